"""Memory over one stream of 100,000 chunks: it may not grow with the stream."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import rows
import surroundings
from chunks import as_json, warm_stream
from openai.types.chat import ChatCompletionChunk

from llmphases import traced_stream

CHUNKS = 100_000
Wrap = Callable[[Any], Iterator[Any]]


def fresh(length: int) -> Iterator[ChatCompletionChunk]:
    """Every chunk an object of its own, as a client makes them."""
    said = as_json({"content": "word "})
    for _ in range(length):
        yield ChatCompletionChunk.model_validate(said)


def kept(stream: Any) -> Iterator[Any]:
    """What a tracer does that puts the answer together at the end."""
    chunks = []
    for chunk in stream:
        chunks.append(chunk)
        yield chunk
    del chunks


def plain(stream: Any) -> Iterator[Any]:
    yield from stream


def read(wrap: Wrap, length: int, at_last: Callable[[], None] = lambda: None) -> None:
    stream = wrap(warm_stream(fresh(length)))
    for number, _ in enumerate(stream, 1):
        if number == length:
            at_last()


def growth(wrap: Wrap) -> Callable[[int], float]:
    """The most that was allocated during the stream, above what was there before it."""

    def measure(_: int) -> float:
        surroundings.start()
        read(wrap, 10)
        gc.collect()
        tracemalloc.start()
        before, _peak = tracemalloc.get_traced_memory()
        read(wrap, CHUNKS)
        _now, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak - before

    return measure


def alive(wrap: Wrap) -> Callable[[int], float]:
    """Chunks that somebody still holds when the last one has come, that one included."""

    def measure(_: int) -> float:
        surroundings.start()
        found: list[int] = []

        def count() -> None:
            gc.collect()
            # not isinstance: it would ask proxies, ours and others', what they stand for
            found.append(sum(type(one) is ChatCompletionChunk for one in gc.get_objects()))

        read(wrap, CHUNKS, count)
        return found[0]

    return measure


def rows_of(name: str, wrap: Wrap, most: int | None = None, least: str | None = None) -> list[Any]:
    return [
        rows.Row(
            name=f"memory, {name}",
            measure=growth(wrap),
            unit="byte",
            target=most,
            floor=None if least is None else f"memory, {least}",
        ),
        rows.Row(
            name=f"chunks alive, {name}",
            measure=alive(wrap),
            unit="integer",
            target=None if most is None else 2,
            floor=None if least is None else f"chunks alive, {least}",
        ),
    ]


rows.run(
    [
        *rows_of("untraced", plain),
        *rows_of("traced", traced_stream, 256 * 1024, "keeping a list"),
        *rows_of("keeping a list", kept),
    ],
    rounds=1,
    values=1,
    warmups=0,
    processes=1,
)
