"""Streams of all kinds, watched without a change to what they are.

A generator stays a generator. Any other stream object is put behind a transparent proxy: same
`isinstance`, attributes, `with`, `close` and helper methods, and only the protocols that the
object itself has.
"""

from __future__ import annotations

import io
import types
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

import wrapt

from llmphases.capture.current import (
    ChunkShape,
    begin_call,
    block_of,
    frame_here,
    recorder_of,
    wired,
)
from llmphases.capture.drivers import driven, driven_async, relay, relay_async
from llmphases.capture.flows import Flow
from llmphases.errors import ArgumentError
from llmphases.observers import never_raises
from llmphases.recorder import CallRecorder
from llmphases.recorder.recorder import Description

_STREAM_NAMES: Final = ("Stream", "StreamManager", "StreamWrapper", "EventStream")
"""How the classes of SDKs are called that can be iterated, or entered, to read an answer."""


def is_stream(value: object) -> bool:
    """Whether a returned value is read piece by piece: an iterator, or a known stream class.

    Files, sockets and responses are not, though they can be iterated.
    """
    kind = type(value)
    if isinstance(value, (io.IOBase, str, bytes)):
        return False
    if hasattr(kind, "__next__") or hasattr(kind, "__anext__"):
        return kind.__name__ != "StreamReader"
    readable = ("__iter__", "__aiter__", "__enter__", "__aenter__")
    return _is_stream_class(kind) and any(hasattr(kind, name) for name in readable)


def _is_stream_class(kind: type) -> bool:
    return any(base.__name__.endswith(_STREAM_NAMES) for base in kind.__mro__)


def watched(stream: Any, flow: Flow) -> Any:
    """`stream`, so that whoever reads it tells `flow`."""
    if isinstance(stream, types.GeneratorType):
        return driven(stream, flow)
    if isinstance(stream, types.AsyncGeneratorType):
        return driven_async(stream, flow)
    flow.is_object = True
    return _proxy_class(type(stream))(stream, flow)


def watch_here(stream: Any, what: Description, is_token: Callable[[Any], bool] | None) -> Any:
    """`stream` as a request of the current call, or as a call of its own."""
    shape = shape_for(is_token)
    frame = frame_here()
    if block_of(frame) is not None:
        return stream
    call = recorder_of(frame)
    if call is not None:
        return watched(stream, Flow(call=call, shape=shape, is_own=False, finishes=False))
    opened = begin_call(what)
    if opened is None:
        return stream
    return watched(stream, Flow(call=opened, shape=shape, is_own=False))


def shape_for(is_token: Callable[[Any], bool] | None) -> ChunkShape | None:
    """The chunk shape that a user's predicate makes; raises `ArgumentError` if it is none."""
    if is_token is None:
        return None
    if not callable(is_token):
        raise ArgumentError(f"is_token={is_token!r}; expected a function: chunk -> bool")
    return wired().shape_from_predicate(is_token)


class StreamProxy(wrapt.ObjectProxy[Any]):
    """Stands in for a stream object. Which protocols it speaks is up to `_proxy_class`."""

    def __init__(self, stream: Any, flow: Flow, driver: Any = None) -> None:
        super().__init__(stream)
        self._self_flow = flow
        self._self_driver = driver

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        return _watched_attribute(self, value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.__wrapped__.__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def _watched_attribute(proxy: StreamProxy, value: Any) -> Any:
    """Helper methods and iterators of a stream (`text_stream`, `iter_lines`) lead to us as well."""
    flow: Flow = proxy._self_flow  # noqa: SLF001  # wrapt keeps a proxy's own state under this prefix
    if isinstance(value, (types.GeneratorType, types.AsyncGeneratorType)):
        return _side_door(proxy, value)
    if not isinstance(value, types.MethodType) or value.__self__ is not proxy.__wrapped__:
        return value
    method = value

    def call_through(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        if isinstance(result, (types.GeneratorType, types.AsyncGeneratorType)):
            return _side_door(proxy, result)
        flow.touch()
        return result

    return _named_as(call_through, method)


@never_raises
def _named_as(function: Callable[..., Any], method: Callable[..., Any]) -> Callable[..., Any]:
    function.__name__ = method.__name__
    function.__doc__ = method.__doc__
    return function


def _side_door(proxy: StreamProxy, stream: Any) -> Any:
    """The first iterator that is read through another way than `iter()` becomes the stream."""
    if proxy._self_driver is not None:  # noqa: SLF001
        return stream
    driver = watched(stream, proxy._self_flow)  # noqa: SLF001
    proxy._self_flow.is_object = True  # noqa: SLF001
    proxy._self_driver = driver  # noqa: SLF001
    return driver


def _sync_driver(proxy: StreamProxy) -> Any:
    if proxy._self_driver is None:  # noqa: SLF001
        source: Iterator[Any] = iter(proxy.__wrapped__)
        generator = source if isinstance(source, types.GeneratorType) else relay(source)
        proxy._self_driver = driven(generator, proxy._self_flow)  # noqa: SLF001
    return proxy._self_driver  # noqa: SLF001


def _async_driver(proxy: StreamProxy) -> Any:
    if proxy._self_driver is None:  # noqa: SLF001
        source: AsyncIterator[Any] = aiter(proxy.__wrapped__)
        generator = source if isinstance(source, types.AsyncGeneratorType) else relay_async(source)
        proxy._self_driver = driven_async(generator, proxy._self_flow)  # noqa: SLF001
    return proxy._self_driver  # noqa: SLF001


def _iter(self: StreamProxy) -> Any:
    if self._self_driver is not None and not hasattr(type(self.__wrapped__), "__next__"):
        return iter(self.__wrapped__)
    return _sync_driver(self)


def _next(self: StreamProxy) -> Any:
    return next(_sync_driver(self))


def _aiter(self: StreamProxy) -> Any:
    if self._self_driver is not None and not hasattr(type(self.__wrapped__), "__anext__"):
        return aiter(self.__wrapped__)
    return _async_driver(self)


def _anext(self: StreamProxy) -> Any:
    return anext(_async_driver(self))


def _enter(self: StreamProxy) -> Any:
    return _entered(self, self.__wrapped__.__enter__())


async def _aenter(self: StreamProxy) -> Any:
    return _entered(self, await self.__wrapped__.__aenter__())


def _entered(proxy: StreamProxy, inner: Any) -> Any:
    """What `with` hands out is watched too: the same stream, or the one a manager makes."""
    if inner is proxy.__wrapped__:
        return proxy
    if proxy._self_driver is None and is_stream(inner):  # noqa: SLF001
        made = watched(inner, proxy._self_flow)  # noqa: SLF001
        proxy._self_driver = made  # noqa: SLF001
        return made
    return inner


def _exit(self: StreamProxy, *about: Any) -> Any:
    self._self_flow.closing = True
    try:
        return self.__wrapped__.__exit__(*about)
    finally:
        _finish(self)


async def _aexit(self: StreamProxy, *about: Any) -> Any:
    self._self_flow.closing = True
    try:
        return await self.__wrapped__.__aexit__(*about)
    finally:
        await _finish_async(self)


def _close(self: StreamProxy, *args: Any, **kwargs: Any) -> Any:
    self._self_flow.closing = True
    try:
        result = self.__wrapped__.close(*args, **kwargs)
    finally:
        _finish(self)
    if hasattr(type(result), "__await__"):
        return _closed_async(self, result)
    return result


async def _closed_async(proxy: StreamProxy, result: Any) -> Any:
    try:
        return await result
    finally:
        await _finish_async(proxy)


async def _aclose(self: StreamProxy, *args: Any, **kwargs: Any) -> Any:
    self._self_flow.closing = True
    try:
        return await self.__wrapped__.aclose(*args, **kwargs)
    finally:
        await _finish_async(self)


def _finish(proxy: StreamProxy) -> None:
    driver = proxy._self_driver  # noqa: SLF001
    if isinstance(driver, types.GeneratorType) and not driver.gi_running:
        driver.close()
    if not isinstance(driver, types.AsyncGeneratorType):
        proxy._self_flow.closed()  # noqa: SLF001


async def _finish_async(proxy: StreamProxy) -> None:
    driver = proxy._self_driver  # noqa: SLF001
    if isinstance(driver, types.AsyncGeneratorType) and not driver.ag_running:
        await driver.aclose()
    _finish(proxy)
    proxy._self_flow.closed()  # noqa: SLF001


_PROTOCOLS: Final[dict[str, Any]] = {
    "__iter__": _iter,
    "__next__": _next,
    "__aiter__": _aiter,
    "__anext__": _anext,
    "__enter__": _enter,
    "__exit__": _exit,
    "__aenter__": _aenter,
    "__aexit__": _aexit,
    "close": _close,
    "aclose": _aclose,
}
_classes: dict[type, type[StreamProxy]] = {}


def _proxy_class(kind: type) -> type[StreamProxy]:
    """A proxy class that speaks the protocols of `kind`, and no other."""
    made = _classes.get(kind)
    if made is None:
        members = {name: method for name, method in _PROTOCOLS.items() if hasattr(kind, name)}
        made = type(kind.__name__, (StreamProxy,), members)
        _classes[kind] = made
    return made


def open_call_of(stream: object) -> CallRecorder | None:
    """The call that a watched stream belongs to."""
    flow = getattr(stream, "_self_flow", None) if isinstance(stream, StreamProxy) else None
    if flow is None:
        frame = getattr(stream, "gi_frame", None) or getattr(stream, "ag_frame", None)
        flow = frame.f_locals.get("flow") if frame is not None else None
    return flow.call if isinstance(flow, Flow) else None
