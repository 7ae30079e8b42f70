"""How a watched stream object is read: each protocol does what the object does, and tells of it.

The object itself decides everything: whether `iter()` gives another iterator or itself, what comes
after an error or after its end, who may read at the same time. What we cannot follow (a second
reader, a step after the end) goes to it directly.
"""

from __future__ import annotations

import inspect
import threading
import types
from collections.abc import Callable
from typing import Any, Final
from weakref import WeakKeyDictionary

import wrapt

from llmphases.capture.drivers import driven, driven_async, first_step, relay, relay_async
from llmphases.capture.flows import Flow
from llmphases.capture.stand_in import StandIn, class_for

_GENERATORS: Final = (types.GeneratorType, types.AsyncGeneratorType)


class StreamWatch:
    """What a stand-in for a stream knows beside the stream: whom to tell, and who drives it."""

    __slots__ = ("doors", "flow", "is_stream", "reading", "steps", "watched")

    def __init__(
        self,
        flow: Flow,
        watched: Callable[[Any, Flow], Any],
        is_stream: Callable[[Any], bool | None],
    ) -> None:
        self.flow = flow
        self.watched = watched
        self.is_stream = is_stream
        self.steps: Any = None
        """Drives what `next()` asks for."""
        self.reading = threading.Lock()
        """Held during a step, for a stream may be read from several threads."""
        self.doors: dict[int, Any] = {}
        """Drivers of the generators that the stream holds: each is always the same one."""

    def iterator(self, source: Any) -> Any:
        """What the stream gave out to be read in its place."""
        return source if self.flow.is_over else self.watched(source, self.flow)

    def held(self, source: Any) -> Any:
        """A generator that the stream itself holds (`text_stream`)."""
        door = self.doors.get(id(source))
        if door is None and not self.flow.is_over:
            door = self.doors[id(source)] = self.iterator(source)
        return source if door is None else door


class WatchedStream(StandIn):
    """Stands in for a stream; which protocols it speaks is up to `stream_class`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__wrapped__, name)
        kind = type(value)
        if kind in _GENERATORS:
            return watch_of(self).held(value)
        if kind is types.MethodType and value.__self__ is self.__wrapped__:
            return wrapt.FunctionWrapper(value, self._llmphases_call)
        return value

    def _llmphases_call(self, method: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        """A method of the stream: what it gives out is read in place of the stream."""
        result = method(*args, **kwargs)
        watch = watch_of(self)
        if type(result) in _GENERATORS:
            return watch.iterator(result)
        watch.flow.touch()
        return result


def watch_of(stream: Any) -> StreamWatch:
    """What a watched stream knows beside the stream."""
    watch: StreamWatch = stream._llmphases_watch  # noqa: SLF001  # ours, on a class of ours
    return watch


def _iter(self: StandIn) -> Any:
    source = iter(self.__wrapped__)
    return self if source is self.__wrapped__ else watch_of(self).iterator(source)


def _aiter(self: StandIn) -> Any:
    source = aiter(self.__wrapped__)
    return self if source is self.__wrapped__ else watch_of(self).iterator(source)


def _next(self: StandIn) -> Any:
    watch = watch_of(self)
    if watch.flow.is_over or not watch.reading.acquire(blocking=False):
        return self.__wrapped__.__next__()
    try:
        if not watch.flow.is_driven_by(watch.steps):
            watch.steps = driven(relay(self.__wrapped__), watch.flow)
        return next(watch.steps)
    finally:
        watch.reading.release()


def _anext(self: StandIn) -> Any:
    watch = watch_of(self)
    if watch.flow.is_over:
        return self.__wrapped__.__anext__()
    if not watch.flow.is_driven_by(watch.steps):
        watch.steps = driven_async(relay_async(self.__wrapped__), watch.flow)
        return first_step(watch.steps)(None)
    if watch.steps.ag_running:
        return self.__wrapped__.__anext__()
    return anext(watch.steps)


async def _anext_awaited(self: StandIn) -> Any:
    return await _anext(self)


def _entered(self: StandIn, inner: Any) -> Any:
    """What `with` hands out is watched too: the same stream, or the one a manager makes."""
    if inner is self.__wrapped__:
        return self
    watch = watch_of(self)
    return watch.iterator(inner) if watch.is_stream(inner) else inner


def _enter(self: StandIn) -> Any:
    return _entered(self, self.__wrapped__.__enter__())


async def _aenter(self: StandIn) -> Any:
    return _entered(self, await self.__wrapped__.__aenter__())


def _ending(name: str) -> Callable[..., Any]:
    """A method after which the stream is closed."""

    def end(self: StandIn, *args: Any, **kwargs: Any) -> Any:
        flow = watch_of(self).flow
        flow.closing = True
        try:
            return getattr(self.__wrapped__, name)(*args, **kwargs)
        finally:
            flow.closed()

    end.__name__ = name
    return end


def _ending_async(name: str) -> Callable[..., Any]:
    """The same, where the end is to be awaited."""

    async def end(self: StandIn, *args: Any, **kwargs: Any) -> Any:
        flow = watch_of(self).flow
        flow.closing = True
        try:
            return await getattr(self.__wrapped__, name)(*args, **kwargs)
        finally:
            flow.closed()

    end.__name__ = name
    return end


_PROTOCOLS: Final[dict[str, Any]] = {
    "__iter__": _iter,
    "__next__": _next,
    "__aiter__": _aiter,
    "__anext__": _anext,
    "__enter__": _enter,
    "__aenter__": _aenter,
    "__exit__": _ending("__exit__"),
    "close": _ending("close"),
}
_AWAITED: Final[dict[str, Any]] = {
    "__anext__": _anext_awaited,
    "__aexit__": _ending_async("__aexit__"),
    "close": _ending_async("close"),
    "aclose": _ending_async("aclose"),
}
_classes: WeakKeyDictionary[type, type[StandIn]] = WeakKeyDictionary()


def stream_class(kind: type) -> type[StandIn]:
    """The stand-in class for streams of one class."""
    made = _classes.get(kind)
    if made is None:
        awaited = {
            name: member
            for name, member in _AWAITED.items()
            if name not in _PROTOCOLS or inspect.iscoroutinefunction(getattr(kind, name, None))
        }
        made = _classes[kind] = class_for(kind, {**_PROTOCOLS, **awaited}, WatchedStream)
    return made
