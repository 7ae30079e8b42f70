"""The loops that step streams: one for generators, one for async generators.

Per chunk they set the call's context and reset it, take two stamps, and look whether the chunk is
a token; all of it in local variables. Whatever the consumer sends or throws goes in, whatever the
source raises or returns comes out. What the body made current is saved and restored at its next
step, so a span or a context variable that it set stays its own.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from typing import Any, Protocol, TypeVar

from llmphases.capture.untraced import NOTHING, Untraced
from llmphases.recorder.streams import FIRST_CHUNK, NEW_REQUEST, Reading

T = TypeVar("T")
_ANY_NEWS = FIRST_CHUNK | NEW_REQUEST


class _AnyFlow(Protocol):
    """What a driver needs to know and tells; `Flow` and `PhaseFlow` are the two there are."""

    now: Callable[[], int]
    variable: Any
    context: Any
    track: Any

    def start(self, driver: Callable[[], Any], /) -> Reading | None: ...
    def rule_for(self, chunk: Any, /) -> Callable[[Any], int] | None: ...
    def broken_rule(self) -> Callable[[Any], int]: ...
    def seen(self, at_ns: int, kind: int, context: Any, /) -> Any: ...
    def note(self, chunk: Any, /) -> None: ...
    def long_stall(self, since_ns: int, length_ns: int, /) -> int: ...
    def over(
        self, driver: Callable[[], Any], reading: Reading, error: BaseException | None,
        last_chunk: Any, /,
    ) -> None: ...  # fmt: skip


class _Self:
    """Lets a driver know itself, weakly."""

    __slots__ = ("driver",)

    def __init__(self) -> None:
        self.driver: Any = None

    def __call__(self) -> Any:
        return self.driver() if self.driver is not None else None


def driven(source: Generator[Any, Any, Any], flow: _AnyFlow) -> Generator[Any, Any, Any]:
    """A generator that behaves as `source` and tells `flow` of it."""
    me = _Self()
    driver = _drive(source, flow, me)
    _look_like(driver, source)
    me.driver = weakref.ref(driver)
    return driver


def driven_async(source: AsyncGenerator[Any, Any], flow: _AnyFlow) -> AsyncGenerator[Any, Any]:
    """An async generator that behaves as `source` and tells `flow` of it."""
    me = _Self()
    driver = _drive_async(source, flow, me)
    _look_like(driver, source)
    me.driver = weakref.ref(driver)
    return driver


def _look_like(driver: Any, source: Any) -> None:
    driver.__name__ = source.__name__
    driver.__qualname__ = source.__qualname__


def relay(source: Iterator[T]) -> Generator[T, None, Any]:
    """The steps of any iterator as a generator; closing it leaves the source alone."""
    step = source.__next__
    while True:
        try:
            item = step()
        except StopIteration as stop:
            return stop.value
        yield item


async def relay_async(source: AsyncIterator[T]) -> AsyncGenerator[T, None]:
    """The steps of any async iterator as an async generator; closing it leaves the source alone."""
    step = source.__anext__
    while True:
        try:
            item = await step()
        except StopAsyncIteration:
            return
        yield item


def first_step(source: AsyncGenerator[Any, Any]) -> Callable[[Any], Any]:
    """`source.asend` for the first step, unknown to the event loop.

    A loop closes every async generator that it knows of, all at the same time. It knows the
    driver, which closes its source; knowing both, it would have them run into each other.
    """
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        step = source.asend(None)
    finally:
        sys.set_asyncgen_hooks(*hooks)
    return lambda _: step


def _drive(source: Generator[Any, Any, Any], flow: _AnyFlow, me: _Self) -> Generator[Any, Any, Any]:
    begun = flow.start(me)
    if begun is None:
        flow, begun = Untraced(), NOTHING
    now, track, context = flow.now, flow.track, flow.context
    put, back, current = flow.variable.set, flow.variable.reset, flow.variable.get
    send, throw = source.send, source.throw
    sent: Any = None
    thrown: BaseException | None = None
    item = kind_of = chunk_type = None
    closes = False
    stall, _, last, at_last, count = begun
    arrived = 0
    told: Any = None  # most chunks are of the kind of the one before: cheaper to ask than `track`
    limit = track.limit_ns
    try:
        while True:
            token = put(context)
            try:
                if thrown is None:
                    item = send(sent)
                else:
                    error, thrown = thrown, None
                    closes = isinstance(error, GeneratorExit)
                    try:
                        item = throw(error)
                    finally:
                        del error  # an exception that its own frame holds lives for long
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
                if kind is not told or track.awaiting >= FIRST_CHUNK:
                    told = kind
                    if track.awaiting & (kind | _ANY_NEWS):
                        context = flow.seen(arrived, kind, context) or context
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
        end = GeneratorExit() if closes else None
        flow.over(me, Reading(stall, None, last, at_last, count), end, item)
        return stop.value
    except BaseException as failure:
        flow.over(me, Reading(stall, None, last, at_last, count), failure, item)
        raise


async def _drive_async(
    source: AsyncGenerator[Any, Any], flow: _AnyFlow, me: _Self
) -> AsyncGenerator[Any, Any]:
    begun = flow.start(me)
    if begun is None:
        flow, begun = Untraced(), NOTHING
    now, track, context = flow.now, flow.track, flow.context
    put, back, current = flow.variable.set, flow.variable.reset, flow.variable.get
    send, throw = first_step(source), source.athrow
    sent: Any = None
    thrown: BaseException | None = None
    item = kind_of = chunk_type = None
    closes = False
    stall, _, last, at_last, count = begun
    arrived = 0
    told: Any = None  # most chunks are of the kind of the one before: cheaper to ask than `track`
    limit = track.limit_ns
    try:
        while True:
            token = put(context)
            try:
                if thrown is None:
                    item = await send(sent)
                else:
                    error, thrown = thrown, None
                    closes = isinstance(error, GeneratorExit)
                    try:
                        item = await throw(error)
                    finally:
                        del error  # an exception that its own frame holds lives for long
            finally:
                left = current()
                try:
                    back(token)
                    context = left
                except ValueError:  # dropped while it waited, from another context than its own
                    pass
            arrived = now()
            count += 1
            if type(item) is not chunk_type:
                chunk_type = type(item)
                send = source.asend
                kind_of = flow.rule_for(item)
            try:
                kind = kind_of(item)  # type: ignore[misc]  # set with chunk_type
            except Exception:
                kind_of, kind = flow.broken_rule(), 0
            if kind:
                last = arrived
                at_last = stall
                if kind is not told or track.awaiting >= FIRST_CHUNK:
                    told = kind
                    if track.awaiting & (kind | _ANY_NEWS):
                        context = flow.seen(arrived, kind, context) or context
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
        end = GeneratorExit() if closes else None
        flow.over(me, Reading(stall, None, last, at_last, count), end, item)
        return
    except BaseException as failure:
        flow.over(me, Reading(stall, None, last, at_last, count), failure, item)
        raise
