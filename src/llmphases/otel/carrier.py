"""Carries the frame of the traced program inside OpenTelemetry's own context.

One context variable for both: setting and resetting a second one at every step of every stream
would double the dearest part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, set_span_in_context

from llmphases.observers import Frame, never_raises

_FRAME_KEY = otel_context.create_key("llmphases-frame")
_SPAN_KEY = next(iter(set_span_in_context(INVALID_SPAN, Context())))
"""The key of the current span; asked for in public, because the constant is private."""
_SUPPRESS_KEY = "suppress_instrumentation"
_SDK_SUPPRESS_KEY = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", _SUPPRESS_KEY)


@never_raises
def _propagation() -> Any:
    """The global propagator. One that `OTEL_PROPAGATORS` names wrongly makes its import raise."""
    from opentelemetry import propagate

    return propagate


_propagate = _propagation()
_put = dict.__setitem__
"""Fills a context that nobody has seen yet: `set_value` would copy it twice per value."""


def is_suppressed(context: Any) -> bool:
    """Whether whoever made this context asked for no instrumentation inside it."""
    if not context:
        return False
    return bool(context.get(_SDK_SUPPRESS_KEY) or context.get(_SUPPRESS_KEY))


def frame_of(context: Any) -> Frame | None:
    """The frame in a context value; None outside anything traced."""
    frame: Frame | None = context.get(_FRAME_KEY) if context else None
    return frame


def span_in(context: Any) -> Any:
    """The current span of a context value, or None; what `get_current_span` asks, in one step."""
    return context.get(_SPAN_KEY)


class OtelCarrier:
    """A context value here is an `opentelemetry.context.Context`; see `observers.Carrier`."""

    def __init__(self) -> None:
        self.variable: ContextVar[Any] = _current_context_variable()

    def enter(self, base: Any, frame: Frame) -> Any:
        """`base` (None: the current context) with our frame, and its owner's span current."""
        context = Context(self.variable.get() if base is None else base)
        _put(context, _FRAME_KEY, frame)
        owner = frame.owner
        state = owner.state if owner is not None else None
        # Without a provider, old versions of the API give no span at all, where new ones give the
        # one around it: made current, it would cut off the trace that the program passes on.
        if state is not None and state is not INVALID_SPAN:
            _put(context, _SPAN_KEY, state)
        return context

    def move(self, context: Any, frame: Frame) -> Any:
        """`context` with another frame; a span that the program made current there stays so."""
        moved = self.enter(context, frame)
        before = frame_of(context)
        ours = before.owner.state if before is not None and before.owner is not None else None
        if context.get(_SPAN_KEY) is not ours:
            _put(moved, _SPAN_KEY, context.get(_SPAN_KEY))
        return moved

    def frame_of(self, context: Any) -> Frame | None:
        """The frame in a context value; None outside anything traced."""
        frame: Frame | None = context.get(_FRAME_KEY) if context else None
        return frame

    def inject(self, context: Any) -> dict[str, str]:
        """What the global propagator writes for this context: `traceparent`, baggage, ..."""
        carrier: dict[str, str] = {}
        if _propagate is not None:
            _propagate.inject(carrier, context=context)
        return carrier

    def extract(self, headers: Mapping[str, str]) -> Any:
        """The context that another process injected, read by the global propagator."""
        return Context() if _propagate is None else _propagate.extract(headers, context=Context())


def _current_context_variable() -> ContextVar[Any]:
    """The variable behind OpenTelemetry's current context; attach and detach cost twice as much.

    It is private. Where it is not found under the names that we know, the public way will do.
    """
    runtime = getattr(otel_context, "_RUNTIME_CONTEXT", None)
    variable = getattr(runtime, "_current_context", None)
    if isinstance(variable, ContextVar) and _is_the_current(variable):
        return variable
    return AttachedVariable()  # type: ignore[return-value]  # ContextVar is final; this acts as one


def _is_the_current(variable: ContextVar[Any]) -> bool:
    """Whether what is attached is found in it."""
    probe = Context(otel_context.get_current())
    token = otel_context.attach(probe)
    try:
        return variable.get(None) is probe
    finally:
        otel_context.detach(token)


class AttachedVariable:
    """Looks like the context variable, by public functions only."""

    def get(self) -> Context:
        """The current context."""
        return otel_context.get_current()

    def set(self, value: Context) -> Any:
        """Make a context current; gives the token for `reset`."""
        return otel_context.attach(value)

    def reset(self, token: Any) -> None:
        """Back to what was current before `set`."""
        otel_context.detach(token)
