"""Streams of all kinds, watched without a change to what they are.

A generator stays a generator. Any other stream object gets a stand-in: same `isinstance`,
attributes, `with`, `close` and helper methods, and only the protocols that the object itself has.
What is special about reading it is in `stream_protocols`.
"""

from __future__ import annotations

import io
import types
from collections.abc import Callable
from typing import Any, Final

from llmphases.calls import Ended
from llmphases.capture.contract import ChunkShape
from llmphases.capture.current import begin_call, block_of, frame_here, recorder_of, wired
from llmphases.capture.drivers import driven, driven_async
from llmphases.capture.flows import Flow
from llmphases.capture.stand_in import has, mro_of
from llmphases.capture.stream_protocols import StreamWatch, WatchedStream, stream_class, watch_of
from llmphases.errors import ArgumentError
from llmphases.observers import never_raises
from llmphases.recorder import CallRecorder
from llmphases.recorder.recorder import Description

_STREAM_NAMES: Final = ("Stream", "StreamManager", "StreamWrapper", "EventStream")
"""How the classes of SDKs are called that can be iterated, or entered, to read an answer."""
_NO_STREAMS: Final = frozenset({*io.IOBase.__mro__, str, bytes} - {object})
"""Files, also those written in C, and what is iterated without being a stream."""


@never_raises
def is_stream(value: object) -> bool:
    """Whether a returned value is read piece by piece: an iterator, or a known stream class.

    Files, sockets and responses are not, though they can be iterated.
    """
    kind = type(value)
    bases = mro_of(kind)
    if not _NO_STREAMS.isdisjoint(bases) or any(b.__module__ == "unittest.mock" for b in bases):
        return False
    is_known = any(base.__name__.endswith(_STREAM_NAMES) for base in bases)
    if has(kind, "__next__") or has(kind, "__anext__"):
        return is_known or not has(kind, "readline")
    return is_known and any(
        has(kind, name) for name in ("__iter__", "__aiter__", "__enter__", "__aenter__")
    )


def watched(stream: Any, flow: Flow) -> Any:
    """`stream`, so that whoever reads it tells `flow`."""
    made = _watched(stream, flow)
    if made is None:
        flow.abandon(Ended.UNOBSERVED)
        return stream
    return made


@never_raises
def _watched(stream: Any, flow: Flow) -> Any:
    kind = type(stream)
    if kind is types.GeneratorType:
        return driven(stream, flow)
    if kind is types.AsyncGeneratorType:
        return driven_async(stream, flow)
    flow.is_object = True
    return stream_class(kind)(stream, StreamWatch(flow, watched, is_stream))


def watch_here(stream: Any, what: Description, is_token: Callable[[Any], bool] | None) -> Any:
    """`stream` as a request of the current call, or as a call of its own.

    One that is watched already, as those of a client that is hooked into, is that already.
    """
    shape = shape_for(is_token)
    known = _flow_of(stream)
    if known is not None and not known.is_over:
        known.shape = shape or known.shape
        return stream
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


def open_call_of(stream: object) -> CallRecorder | None:
    """The call that a watched stream belongs to."""
    flow = _flow_of(stream)
    return None if flow is None else flow.call


def _flow_of(stream: object) -> Flow | None:
    flow: Any = None
    if issubclass(type(stream), WatchedStream):
        flow = watch_of(stream).flow
    elif type(stream) in {types.GeneratorType, types.AsyncGeneratorType}:
        # Nothing is asked of an object of the program's: who knows what that does.
        frame = getattr(stream, "gi_frame", None) or getattr(stream, "ag_frame", None)
        flow = frame.f_locals.get("flow") if frame is not None else None
    return flow if isinstance(flow, Flow) else None
