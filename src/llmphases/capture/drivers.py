"""The loops that step streams: one for generators, one for async generators.

Per chunk they set the call's context and reset it, take two stamps, and look whether the chunk is
a token; all of it in local variables. Whatever the consumer sends or throws goes in, whatever the
source raises or returns comes out. What the body made current is saved and restored at its next
step, so a span or a context variable that it set stays its own.
"""

from __future__ import annotations

import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any, Protocol, TypeVar

from llmphases.recorder.streams import FIRST_CHUNK, NEW_REQUEST, Reading

T = TypeVar("T")
_ANY_NEWS = FIRST_CHUNK | NEW_REQUEST


class AnyFlow(Protocol):
    """What a driver needs to know and tells; `Flow` and `PhaseFlow` are the two there are."""

    now: Callable[[], int]
    variable: Any
    context: Any
    track: Any

    def start(self, driver: Callable[[], Any], /) -> bool | None: ...
    def waited_ns(self) -> int: ...
    def rule_for(self, chunk: Any, /) -> Callable[[Any], int]: ...
    def broken_rule(self) -> Callable[[Any], int]: ...
    def seen(self, at_ns: int, kind: int, context: Any, /) -> Any: ...
    def note(self, chunk: Any, /) -> None: ...
    def long_stall(self, since_ns: int, length_ns: int, /) -> int: ...
    def over(
        self, reading: Reading, error: BaseException | None = None, last_chunk: Any = None, /
    ) -> None: ...


class _Self:
    """Lets a driver know itself, weakly."""

    __slots__ = ("driver",)

    def __init__(self) -> None:
        self.driver: Any = None

    def __call__(self) -> Any:
        return self.driver() if self.driver is not None else None


def driven(source: Generator[Any, Any, Any], flow: AnyFlow) -> Generator[Any, Any, Any]:
    """A generator that behaves as `source` and tells `flow` of it."""
    me = _Self()
    driver = _drive(source, flow, me)
    _look_like(driver, source)
    me.driver = weakref.ref(driver)
    return driver


def driven_async(source: AsyncGenerator[Any, Any], flow: AnyFlow) -> AsyncGenerator[Any, Any]:
    """An async generator that behaves as `source` and tells `flow` of it."""
    me = _Self()
    driver = _drive_async(source, flow, me)
    _look_like(driver, source)
    me.driver = weakref.ref(driver)
    return driver


def _look_like(driver: Any, source: Any) -> None:
    driver.__name__ = source.__name__
    driver.__qualname__ = source.__qualname__


def relay(source: Iterator[T]) -> Generator[T, None, None]:
    """Any iterator as a generator; closing it leaves the source alone."""
    for item in source:  # noqa: UP028  # `yield from` would call source.close()
        yield item


async def relay_async(source: AsyncIterator[T]) -> AsyncGenerator[T, None]:
    """Any async iterator as an async generator; closing it leaves the source alone."""
    async for item in source:
        yield item


def _drive(source: Generator[Any, Any, Any], flow: AnyFlow, me: _Self) -> Generator[Any, Any, Any]:
    if not flow.start(me):
        return (yield from source)
    now, track, context = flow.now, flow.track, flow.context
    put, back, current = flow.variable.set, flow.variable.reset, flow.variable.get
    send, throw = source.send, source.throw
    sent: Any = None
    thrown: BaseException | None = None
    last: int | None = None
    item = kind_of = chunk_type = None
    stall = flow.waited_ns()
    at_last = count = arrived = 0
    limit = track.limit_ns
    try:
        while True:
            token = put(context)
            try:
                if thrown is None:
                    item = send(sent)
                else:
                    error, thrown = thrown, None
                    item = throw(error)
            finally:
                context = current()
                back(token)
            arrived = now()
            count += 1
            if type(item) is not chunk_type:
                chunk_type = type(item)
                kind_of = flow.rule_for(item)
            try:
                kind = kind_of(item)  # type: ignore[misc]  # set with chunk_type
            except Exception:
                kind_of, kind = flow.broken_rule(), 0
            if kind:
                last = arrived
                at_last = stall
                if track.awaiting & (kind | _ANY_NEWS):
                    context = flow.seen(arrived, kind, context)
            else:
                if track.awaiting & FIRST_CHUNK:
                    flow.seen(arrived, 0, context)
                flow.note(item)
            try:
                sent = yield item
            except BaseException as at_yield:
                thrown = at_yield
            held = now() - arrived
            stall += held
            if held >= limit:
                limit = flow.long_stall(arrived, held)
    except StopIteration as stop:
        flow.over(Reading(stall, None, last, at_last, count), None, item)
        return stop.value
    except BaseException as failure:
        flow.over(Reading(stall, None, last, at_last, count), failure, item)
        raise


async def _drive_async(
    source: AsyncGenerator[Any, Any], flow: AnyFlow, me: _Self
) -> AsyncGenerator[Any, Any]:
    if not flow.start(me):
        async for item in source:
            yield item
        return
    now, track, context = flow.now, flow.track, flow.context
    put, back, current = flow.variable.set, flow.variable.reset, flow.variable.get
    send, throw = source.asend, source.athrow
    sent: Any = None
    thrown: BaseException | None = None
    last: int | None = None
    item = kind_of = chunk_type = None
    stall = flow.waited_ns()
    at_last = count = arrived = 0
    limit = track.limit_ns
    try:
        while True:
            token = put(context)
            try:
                if thrown is None:
                    item = await send(sent)
                else:
                    error, thrown = thrown, None
                    item = await throw(error)
            finally:
                context = current()
                back(token)
            arrived = now()
            count += 1
            if type(item) is not chunk_type:
                chunk_type = type(item)
                kind_of = flow.rule_for(item)
            try:
                kind = kind_of(item)  # type: ignore[misc]  # set with chunk_type
            except Exception:
                kind_of, kind = flow.broken_rule(), 0
            if kind:
                last = arrived
                at_last = stall
                if track.awaiting & (kind | _ANY_NEWS):
                    context = flow.seen(arrived, kind, context)
            else:
                if track.awaiting & FIRST_CHUNK:
                    flow.seen(arrived, 0, context)
                flow.note(item)
            try:
                sent = yield item
            except BaseException as at_yield:
                thrown = at_yield
            held = now() - arrived
            stall += held
            if held >= limit:
                limit = flow.long_stall(arrived, held)
    except StopAsyncIteration:
        flow.over(Reading(stall, None, last, at_last, count), None, item)
        return
    except BaseException as failure:
        flow.over(Reading(stall, None, last, at_last, count), failure, item)
        raise
