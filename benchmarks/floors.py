"""The least that any wrapper around a stream has to do, written out: what ours is compared with.

Both speak the whole generator protocol and stamp both sides. `stamped` leaves the call not current
while the source runs; `current` sets and resets it at every step, and keeps what the source made
current for its next step. Neither finds out how a stream ended, nor tells anybody anything.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from contextvars import ContextVar
from time import perf_counter_ns
from typing import Any

LONG_NS = 10_000_000
Kind = Callable[[Any], object]


def stamped(source: Generator[Any, Any, Any], is_token: Kind) -> Generator[Any, Any, Any]:
    """Two stamps, first and last token, stalls added up."""
    now, send = perf_counter_ns, source.send
    sent: Any = None
    thrown: BaseException | None = None
    first = last = None
    stall = at_last = count = longest = 0
    try:
        while True:
            if thrown is None:
                item = send(sent)
            else:
                error, thrown = thrown, None
                item = source.throw(error)
            arrived = now()
            count += 1
            if is_token(item):
                last, at_last = arrived, stall
                if first is None:
                    first = arrived
            try:
                sent = yield item
            except BaseException as at_yield:  # noqa: BLE001  # thrown into the source
                thrown = at_yield
            held = now() - arrived
            stall += held
            if held >= LONG_NS:
                longest = max(longest, held)
    except StopIteration as stop:
        return first, last, stall, at_last, count, longest, stop.value


def current(
    source: Generator[Any, Any, Any], is_token: Kind, variable: ContextVar[Any], context: Any
) -> Generator[Any, Any, Any]:
    """The same, and the call is current at every step."""
    now, send = perf_counter_ns, source.send
    put, back, get = variable.set, variable.reset, variable.get
    sent: Any = None
    thrown: BaseException | None = None
    first = last = None
    stall = at_last = count = longest = 0
    try:
        while True:
            token = put(context)
            try:
                if thrown is None:
                    item = send(sent)
                else:
                    error, thrown = thrown, None
                    item = source.throw(error)
            finally:
                context = get()
                back(token)
            arrived = now()
            count += 1
            if is_token(item):
                last, at_last = arrived, stall
                if first is None:
                    first = arrived
            try:
                sent = yield item
            except BaseException as at_yield:  # noqa: BLE001  # thrown into the source
                thrown = at_yield
            held = now() - arrived
            stall += held
            if held >= LONG_NS:
                longest = max(longest, held)
    except StopIteration as stop:
        return first, last, stall, at_last, count, longest, stop.value


async def stamped_async(source: AsyncGenerator[Any, Any], is_token: Kind) -> AsyncGenerator[Any]:
    """`stamped`, for async generators."""
    now, send = perf_counter_ns, source.asend
    sent: Any = None
    thrown: BaseException | None = None
    first = last = None
    stall = at_last = count = longest = 0
    try:
        while True:
            if thrown is None:
                item = await send(sent)
            else:
                error, thrown = thrown, None
                item = await source.athrow(error)
            arrived = now()
            count += 1
            if is_token(item):
                last, at_last = arrived, stall
                if first is None:
                    first = arrived
            try:
                sent = yield item
            except BaseException as at_yield:  # noqa: BLE001  # thrown into the source
                thrown = at_yield
            held = now() - arrived
            stall += held
            if held >= LONG_NS:
                longest = max(longest, held)
    except StopAsyncIteration:
        return


async def current_async(
    source: AsyncGenerator[Any, Any], is_token: Kind, variable: ContextVar[Any], context: Any
) -> AsyncGenerator[Any]:
    """`current`, for async generators."""
    now, send = perf_counter_ns, source.asend
    put, back, get = variable.set, variable.reset, variable.get
    sent: Any = None
    thrown: BaseException | None = None
    first = last = None
    stall = at_last = count = longest = 0
    try:
        while True:
            token = put(context)
            try:
                if thrown is None:
                    item = await send(sent)
                else:
                    error, thrown = thrown, None
                    item = await source.athrow(error)
            finally:
                context = get()
                back(token)
            arrived = now()
            count += 1
            if is_token(item):
                last, at_last = arrived, stall
                if first is None:
                    first = arrived
            try:
                sent = yield item
            except BaseException as at_yield:  # noqa: BLE001  # thrown into the source
                thrown = at_yield
            held = now() - arrived
            stall += held
            if held >= LONG_NS:
                longest = max(longest, held)
    except StopAsyncIteration:
        return
