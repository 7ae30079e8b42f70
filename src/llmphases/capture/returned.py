"""What a traced function returned: a call goes on while that is read or awaited."""

from __future__ import annotations

import functools
import types
import weakref
from collections.abc import Coroutine, Generator
from typing import Any, Final

from llmphases.calls import Ended
from llmphases.capture.contract import ChunkShape
from llmphases.capture.current import begin_call, end_call, wired
from llmphases.capture.flows import Flow
from llmphases.capture.marks import leave
from llmphases.capture.stand_in import StandIn, class_for, has
from llmphases.capture.streams import is_stream, watched
from llmphases.observers import never_raises
from llmphases.recorder import CallRecorder
from llmphases.recorder.recorder import Description

_MOST_KINDS: Final = 1000
_ways: Final[dict[int, tuple[weakref.ref[type], str | None]]] = {}
"""The answers of `_read_on_as`, by class. By its id, for hashing would run code of a metaclass."""


def handed_out(call: CallRecorder, shape: ChunkShape | None, result: Any) -> Any:
    """End the call, or let it go on while what the function returned is read or awaited."""
    way = _read_on_as(result)
    if way == "stream":
        return watched(result, Flow(call=call, shape=shape))
    if way == "coroutine":
        return named_as(_await_returned(shape, Unstarted(result, call)), result)
    if way == "future":
        _follow(call, result)
    elif way == "awaitable":
        kind = class_for(type(result), {"__await__": _awaited})
        return kind(result, _Awaiting(call, shape))
    else:
        end_call(call)
    return result


@never_raises
def _read_on_as(result: Any) -> str | None:
    """By which way a result is still to come; None: it is all there."""
    kind = type(result)
    known = _ways.get(id(kind))
    if known is not None and known[0]() is kind:
        return known[1]
    way = _way_of(result, kind)
    if len(_ways) >= _MOST_KINDS:
        _ways.clear()
    _ways[id(kind)] = weakref.ref(kind), way
    return way


def _way_of(result: Any, kind: type) -> str | None:
    if is_stream(result):
        return "stream"
    if kind is types.CoroutineType:
        return "coroutine"
    if has(kind, "add_done_callback"):
        return "future"
    # An awaitable that is entered instead (aiohttp's requests) says nothing of its end.
    is_awaited = has(kind, "__await__") and not has(kind, "__aenter__")
    return "awaitable" if is_awaited else None


def named_as(ours: Any, theirs: Any) -> Any:
    """Ours, under the name of theirs: it is in Python's warnings."""
    _rename(ours, theirs)
    return ours


@never_raises
def _rename(ours: Any, theirs: Any) -> None:
    ours.__name__ = theirs.__name__
    ours.__qualname__ = theirs.__qualname__


class Unstarted:
    """Holds a coroutine that has not run: never awaited, it gives one warning and not two."""

    __slots__ = ("_coroutine", "call")

    def __init__(self, coroutine: Any, call: CallRecorder | None = None) -> None:
        self._coroutine = coroutine
        self.call = call
        """The call that has begun already; it ends even if nobody awaits the coroutine."""

    def taken(self) -> Any:
        """The coroutine, to be awaited now."""
        coroutine, self._coroutine = self._coroutine, None
        return coroutine

    def __del__(self) -> None:
        if self._coroutine is not None:
            self._coroutine.close()
            if self.call is not None:
                end_call(self.call, ended=Ended.DROPPED)


def awaited_later(
    what: Description, shape: ChunkShape | None, body: Any
) -> Coroutine[Any, Any, Any]:
    """A coroutine like `body` that is a call; it begins when it is first awaited."""
    traced: Coroutine[Any, Any, Any] = named_as(_trace(what, shape, Unstarted(body)), body)
    return traced


async def _trace(what: Description, shape: ChunkShape | None, held: Unstarted) -> Any:
    body = held.taken()
    call = begin_call(what)
    if call is None:
        return await body
    return await _await_rest(call, shape, body)


async def _await_returned(shape: ChunkShape | None, held: Unstarted) -> Any:
    assert held.call is not None
    return await _await_rest(held.call, shape, held.taken())


async def _await_rest(call: CallRecorder, shape: ChunkShape | None, awaitable: Any) -> Any:
    token = wired().carrier.variable.set(call.context)
    try:
        result = await awaitable
    except BaseException as error:
        end_call(call, error)
        raise
    finally:
        leave(token)
    return handed_out(call, shape, result)


class _Awaiting:
    """The call of an awaitable object; it ends even if nobody awaits that."""

    __slots__ = ("call", "shape")

    def __init__(self, call: CallRecorder, shape: ChunkShape | None) -> None:
        self.call = call
        self.shape = shape

    def __del__(self) -> None:
        end_call(self.call, ended=Ended.DROPPED)


def _awaited(self: StandIn) -> Generator[Any, Any, Any]:
    about: _Awaiting = self._llmphases_watch
    if not about.call.is_open:
        return self.__wrapped__.__await__()  # type: ignore[no-any-return]  # as the object has it
    return _await_rest(about.call, about.shape, self.__wrapped__).__await__()


@never_raises
def _follow(call: CallRecorder, future: Any) -> None:
    future.add_done_callback(functools.partial(_future_done, call))


@never_raises
def _future_done(call: CallRecorder, future: Any) -> None:
    if future.cancelled():
        end_call(call, _cancelled())
    else:
        # Not `exception()`: who asks takes the warning away that nobody looked at the error.
        end_call(call, getattr(future, "_exception", None))


def _cancelled() -> BaseException:
    import asyncio  # noqa: PLC0415  # loaded already where a future was cancelled

    return asyncio.CancelledError()
