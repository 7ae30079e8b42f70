"""Helpers of an SDK that read a stream, and close what is below it instead of the stream."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from llmphases.capture.clients.contract import Closing
from llmphases.capture.flows import Flow
from llmphases.capture.returned import Unstarted, named_as
from llmphases.capture.stream_protocols import WatchedStream, watch_of
from llmphases.observers import never_raises


def around_closing(closing: Closing) -> Callable[[Any, Any, Any, Any], Any]:
    """Once the method has run, the stream of its object is closed."""

    def wrapper(wrapped: Any, helper: Any, args: Any, kwargs: Any) -> Any:
        flow = _flow_of(helper, closing.stream)
        result = wrapped(*args, **kwargs)
        if inspect.iscoroutine(result):
            return named_as(_later(Unstarted(result), flow), result)
        _closed(flow)
        return result

    return wrapper


async def _later(held: Unstarted, flow: Flow | None) -> Any:
    result = await held.taken()
    _closed(flow)
    return result


@never_raises
def _flow_of(helper: Any, name: str) -> Flow | None:
    stream = getattr(helper, name, None)
    return watch_of(stream).flow if issubclass(type(stream), WatchedStream) else None


@never_raises
def _closed(flow: Flow | None) -> None:
    if flow is not None:
        flow.closed()
