"""A decorated generator of text, per item: sync and async."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import floors
import rows
from reading import added, added_async, floor, floor_async

from llmphases import traced_llm_call


def answer(items: int) -> Iterator[str]:
    for _ in range(items):
        yield "word"


async def answer_async(items: int) -> AsyncIterator[str]:
    for _ in range(items):
        yield "word"


def stamped(items: int) -> Iterator[str]:
    return floors.stamped(answer(items), bool)


def stamped_async(items: int) -> AsyncIterator[str]:
    return floors.stamped_async(answer_async(items), bool)


rows.run(
    [
        rows.Row(
            name="generator: two stamps",
            measure=added(lambda: (answer, stamped)),
        ),
        rows.Row(
            name="generator: two stamps, current",
            measure=added(lambda: (answer, floor(answer, bool))),
        ),
        rows.Row(
            name="generator: decorated",
            measure=added(lambda: (answer, traced_llm_call(answer))),
            target=0.5e-6,
            floor="generator: two stamps, current",
        ),
        rows.Row(
            name="async generator: two stamps",
            measure=added_async(lambda: (answer_async, stamped_async)),
        ),
        rows.Row(
            name="async generator: two stamps, current",
            measure=added_async(lambda: (answer_async, floor_async(answer_async, bool))),
        ),
        rows.Row(
            name="async generator: decorated",
            measure=added_async(lambda: (answer_async, traced_llm_call(answer_async))),
            target=0.6e-6,
            floor="async generator: two stamps, current",
        ),
    ]
)
