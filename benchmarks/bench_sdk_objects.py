"""A traced stream around the OpenAI SDK's own stream class, per chunk: sync and async.

The chunks are ready objects, so nothing is measured but what we add.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

import rows
from chunks import objects, warm_stream, warm_stream_async
from reading import added, added_async, floor, floor_async

from llmphases import traced_stream


def stream(items: int) -> Any:
    return warm_stream(iter(objects(items)))


def stream_async(items: int) -> Any:
    async def ready() -> AsyncIterator[Any]:
        for chunk in objects(items):
            yield chunk

    return warm_stream_async(ready())


def iterated(items: int) -> Iterator[Any]:
    return iter(stream(items))


def iterated_async(items: int) -> AsyncIterator[Any]:
    return aiter(stream_async(items))


def traced(items: int) -> Any:
    return traced_stream(stream(items))


def traced_async(items: int) -> Any:
    return traced_stream(stream_async(items))


def has_text(chunk: Any) -> object:
    return chunk.choices[0].delta.content


rows.run(
    [
        rows.Row(
            name="SDK stream: two stamps, current",
            measure=added(lambda: (stream, floor(iterated, has_text))),
        ),
        rows.Row(
            name="SDK stream: traced",
            measure=added(lambda: (stream, traced)),
            target=0.6e-6,
            floor="SDK stream: two stamps, current",
        ),
        rows.Row(
            name="async SDK stream: two stamps, current",
            measure=added_async(lambda: (stream_async, floor_async(iterated_async, has_text))),
        ),
        rows.Row(
            name="async SDK stream: traced",
            measure=added_async(lambda: (stream_async, traced_async)),
            target=0.75e-6,
            floor="async SDK stream: two stamps, current",
        ),
    ]
)
