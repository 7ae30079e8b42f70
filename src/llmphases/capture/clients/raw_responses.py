"""Raw responses: what an SDK hands out in place of the answer, if it is asked to.

The answer, or its stream, is taken out of it later, or never. Until then its request is open,
unless all of the body is there already.
"""

from __future__ import annotations

import inspect
import json
import weakref
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from llmphases.capture.clients.contract import Reading
from llmphases.capture.flows import Flow
from llmphases.capture.returned import Unstarted, named_as
from llmphases.capture.stand_in import mro_of
from llmphases.capture.streams import watched
from llmphases.observers import never_raises

if TYPE_CHECKING:
    from llmphases.capture.clients.exchange import Exchange

_NAME: Final = "APIResponse"
"""How the classes of SDKs end."""
_LONGEST_BODY: Final = 1 << 20
"""Bytes; a longer one is not looked into, for that would take the program's time."""


class Unread:
    """A response whose answer has still to be taken out."""

    __slots__ = ("_exchange", "_flow", "_held", "_response", "_taken")

    def __init__(self, exchange: Exchange, response: Any, flow: Flow | None) -> None:
        self._exchange: Exchange | None = exchange
        """Until the answer is there; None if that is a stream."""
        self._held = flow
        """The state of the stream, until somebody has that."""
        self._flow: Callable[[], Flow | None] = lambda: None
        if flow is not None:
            self._exchange, self._flow = None, weakref.ref(flow)
        self._taken: tuple[Callable[[], Any], Callable[[], Any]] | None = None
        self._response = weakref.ref(response, partial(_drop, id(response)))

    def answer(self, result: Any) -> None:
        """The whole answer is here, or nobody waits for it any more."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.answered(result)

    def failed(self, error: BaseException) -> None:
        """It was to be read, and is not there."""
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.failed(error)

    def stream(self, result: Any) -> Any:
        """What stands for a stream that was taken out: for the same one always the same."""
        if self._taken is not None and self._taken[0]() is result:
            return self._taken[1]() or result
        flow, self._held = self._held, None
        if flow is None or flow.is_over:
            return result
        ours = watched(result, flow)
        self._taken = weakref.ref(result), weakref.ref(ours)
        return ours

    @property
    def flow(self) -> Flow | None:
        """The state of the stream, as long as somebody may read that."""
        return self._flow()


_unread: Final[dict[int, Unread]] = {}


def is_raw(result: object) -> bool:
    """Whether it is such a response, by its class and what it holds."""
    is_named_so = any(base.__name__.endswith(_NAME) for base in mro_of(type(result)))
    return is_named_so and hasattr(result, "http_response")


def body_of(response: Any) -> Any:
    """The body of a response that has arrived as a whole, read as JSON; None if it is none."""
    content = response.http_response.content
    if len(content) > _LONGEST_BODY:
        return None
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None


def keep(exchange: Exchange, response: Any) -> None:
    """The exchange goes on until the answer has been taken out of the response."""
    kind = response.http_response.headers.get("content-type", "")
    flow = exchange.flow() if kind.startswith("text/event-stream") else None
    _unread[id(response)] = Unread(exchange, response, flow)


def has_arrived(response: Any) -> bool:
    """Whether all of its body is there."""
    return bool(response.http_response.is_closed)


@never_raises
def _drop(key: int, _: object) -> None:
    unread = _unread.pop(key, None)
    if unread is not None:
        unread.answer(None)


After = Callable[[Unread, Any, Any], Any]
"""Sees what a method of a response gave; gives what the program is to get in its place, or None."""


def _parsed(unread: Unread, response: Any, result: Any) -> Any:
    if unread.flow is not None:
        return unread.stream(result)
    return unread.answer(result)


def _read(unread: Unread, response: Any, result: Any) -> None:
    if unread.flow is not None:
        unread.flow.touch()
    elif has_arrived(response):
        unread.answer(body_of(response))


def _iterated(unread: Unread, response: Any, result: Any) -> Any:
    return None if unread.flow is None else unread.stream(result)


def _closed(unread: Unread, response: Any, result: Any) -> None:
    if unread.flow is not None:
        unread.flow.closed()
    unread.answer(None)


_AFTER: Final[dict[str, After]] = {
    "parse": _parsed,
    **dict.fromkeys(("read", "text", "json"), _read),
    **dict.fromkeys(("iter_bytes", "iter_text", "iter_lines"), _iterated),
    "close": _closed,
}


def around_reading(reading: Reading) -> Callable[[Any, Any, Any, Any], Any]:
    """What runs in place of a method of such a response."""
    after = _AFTER[reading.where.rpartition(".")[2]]
    guarded = never_raises(after)

    def wrapper(wrapped: Any, response: Any, args: Any, kwargs: Any) -> Any:
        # Away meanwhile: `parse` reads by `read`.
        unread = _unread.pop(id(response), None)
        if unread is None:
            return wrapped(*args, **kwargs)
        try:
            result = wrapped(*args, **kwargs)
        except BaseException as error:
            unread.failed(error)
            raise
        finally:
            _unread[id(response)] = unread
        if inspect.iscoroutine(result):
            return named_as(later(Unstarted(result), unread, response), result)
        return _or(guarded(unread, response, result), result)

    async def later(held: Unstarted, unread: Unread, response: Any) -> Any:
        body = held.taken()
        _unread.pop(id(response), None)
        try:
            result = await body
        except BaseException as error:
            unread.failed(error)
            raise
        finally:
            _unread[id(response)] = unread
        return _or(guarded(unread, response, result), result)

    return wrapper


def _or(ours: Any, theirs: Any) -> Any:
    return theirs if ours is None else ours
