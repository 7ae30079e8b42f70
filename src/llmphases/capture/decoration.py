"""`traced_llm_call`, `traced_stream` and `call_of`, as people import them.

What they are made of needs `wrapt`, which takes longer to import than all the rest of this
package: it is loaded with the first decoration or stream, never inside a traced call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol, TypeVar, overload

from llmphases.capture.blocks import describe
from llmphases.capture.current import is_disabled, wired
from llmphases.capture.marks import LlmCall, leave
from llmphases.errors import ArgumentError
from llmphases.observers import never_raises
from llmphases.recorder import CallRecorder

F = TypeVar("F", bound=Callable[..., Any])
S = TypeVar("S")


class _Decorator(Protocol):
    def __call__(self, function: F, /) -> F: ...


@overload
def traced_llm_call(function: F, /) -> F: ...
@overload
def traced_llm_call(
    *,
    name: str | None = None,
    model: str | None = None,
    provider: str | None = None,
    operation: str = "chat",
    is_token: Callable[[Any], bool] | None = None,
) -> _Decorator: ...
def traced_llm_call(
    function: Any = None,
    /,
    *,
    name: str | None = None,
    model: str | None = None,
    provider: str | None = None,
    operation: str = "chat",
    is_token: Callable[[Any], bool] | None = None,
) -> Any:
    """Trace every call of a function as one LLM call, whatever kind of function it is.

    For functions, coroutines, generators and async generators, methods, class and static methods
    (in either order), partials and callable objects. A generator's items, or those of a stream
    that the function returns, are its output; the call ends when they have been handed over.

    Args:
        function: what to decorate, when used bare.
        name: groups calls in reports; default: the function's name.
        model: the model that is asked for, if it is always the same.
        provider: as `gen_ai.provider.name` has it, e.g. ``openai``.
        operation: as `gen_ai.operation.name` has it.
        is_token: says which chunks are output tokens, for chunks of an unknown kind.

    Raises:
        ArgumentError: for anything that cannot be decorated or is of the wrong kind.
    """
    if function is None:
        describe("@traced_llm_call", name or "unnamed", model, provider, operation)
        return functools.partial(
            traced_llm_call, name=name, model=model, provider=provider, operation=operation,
            is_token=is_token,
        )  # fmt: skip
    from llmphases.capture.decorators import decorated_call  # noqa: PLC0415  # loads wrapt

    return decorated_call(
        function, name=name, model=model, provider=provider, operation=operation,
        is_token=is_token,
    )  # fmt: skip


def traced_stream(
    stream: S,
    *,
    name: str = "traced_stream",
    model: str | None = None,
    provider: str | None = None,
    is_token: Callable[[Any], bool] | None = None,
) -> S:
    """Watch a stream that is consumed inside a traced function: it is one request of its call.

    Outside any call it opens one of its own, called `name`. `is_token` says which chunks are
    output tokens, for chunks of an unknown kind. Raises `ArgumentError` for what is no stream.
    """
    what = describe("traced_stream", name, model, provider, "chat")
    kind = type(stream)
    if not any(hasattr(kind, m) for m in ("__iter__", "__aiter__", "__enter__", "__aenter__")):
        raise ArgumentError(
            f"traced_stream({kind.__name__}): expected an iterator, async iterator or stream object"
        )
    if is_disabled():
        return stream
    from llmphases.capture.streams import watch_here  # noqa: PLC0415  # loads wrapt

    watched: S = watch_here(stream, what, is_token)
    return watched


class _CallOfStream:
    """The call of a stream, made current again: ``with call_of(stream) as call:``."""

    __slots__ = ("_recorder", "_token")

    def __init__(self, recorder: CallRecorder | None) -> None:
        self._recorder = recorder
        self._token: Any = None

    @never_raises
    def _begin(self) -> None:
        if self._recorder is not None and self._recorder.is_open:
            self._token = wired().carrier.variable.set(self._recorder.context)

    def __enter__(self) -> LlmCall:
        self._begin()
        return LlmCall(self._recorder)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        token, self._token = self._token, None
        if token is not None:
            leave(token)


def call_of(stream: object) -> _CallOfStream:
    """The call that a traced stream belongs to, as a block.

    What is opened inside (`with post_processing():`) counts in that call, although its function
    has returned. For anything that is no traced stream the block does nothing.
    """
    if is_disabled():
        return _CallOfStream(None)
    from llmphases.capture.streams import open_call_of  # noqa: PLC0415  # loads wrapt

    return _CallOfStream(open_call_of(stream))
