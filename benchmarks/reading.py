"""Reads a stream to its end, as a program does: what do `ITEMS` more items cost?

Always the slope between a long stream and one of a single item, so that what a call costs as such
falls out.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator
from time import thread_time_ns
from typing import Any

import floors
import rows
import surroundings

from llmphases.capture import current

ITEMS = 2000

Make = Callable[[int], Iterator[Any]]
"""A stream of so many items."""
MakeAsync = Callable[[int], AsyncIterator[Any]]


def added(make: Callable[[], tuple[Make, Make]], items: int = ITEMS) -> Callable[[int], float]:
    """What an item of the second stream costs more than one of the first."""

    def slope(stream: Make) -> rows.Pass:
        def read(length: int) -> int:
            return rows.timed(lambda: deque(stream(length), maxlen=0))()

        return lambda: read(items + 1) - read(1)

    def passes() -> tuple[rows.Pass, rows.Pass]:
        surroundings.start()
        plain, wrapped = make()
        return slope(plain), slope(wrapped)

    return rows.added(passes, items)


def added_async(
    make: Callable[[], tuple[MakeAsync, MakeAsync]], items: int = ITEMS
) -> Callable[[int], float]:
    """The same for async streams, by one event loop that stays."""
    loop = asyncio.new_event_loop()

    async def read(stream: MakeAsync, length: int) -> int:
        start = thread_time_ns()
        async for _ in stream(length):
            pass
        return thread_time_ns() - start

    async def long_less_short(stream: MakeAsync) -> int:
        return await read(stream, items + 1) - await read(stream, 1)

    def passes() -> tuple[rows.Pass, rows.Pass]:
        surroundings.start()
        plain, wrapped = make()
        return (
            lambda: loop.run_until_complete(long_less_short(plain)),
            lambda: loop.run_until_complete(long_less_short(wrapped)),
        )

    return rows.added(passes, items)


def floor(source: Make, is_token: floors.Kind) -> Make:
    """`source` behind the floor that makes a call current."""
    variable, context = current.wired().carrier.variable, surroundings.another_context()
    return lambda items: floors.current(source(items), is_token, variable, context)


def floor_async(source: MakeAsync, is_token: floors.Kind) -> MakeAsync:
    """The same for async streams."""
    variable, context = current.wired().carrier.variable, surroundings.another_context()
    return lambda items: floors.current_async(source(items), is_token, variable, context)
