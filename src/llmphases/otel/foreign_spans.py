"""Splits the LLM spans of other instrumentations into our phases, by what they say themselves."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final, Generic, TypeVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.metrics import MeterProvider
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.trace import (
    NonRecordingSpan,
    Status,
    StatusCode,
    TracerProvider,
    set_span_in_context,
)

from llmphases import __version__
from llmphases import conventions as names
from llmphases.capture.current import is_disabled, recorder_of
from llmphases.drawing import Lane
from llmphases.observers import never_raises
from llmphases.otel.attributes import phase_attributes
from llmphases.otel.foreign_calls import ForeignCall, Piece
from llmphases.otel.foreign_dialects import is_inference
from llmphases.otel.foreign_watch import frame_around
from llmphases.otel.metrics import MetricsObserver
from llmphases.recorder import CallRecorder

T = TypeVar("T")

_FAILED: Final = Status(StatusCode.ERROR)
_MOST_OPEN: Final = 10_000
"""How many spans that never end are remembered."""


class PhaseSplitter(SpanProcessor):
    """``provider.add_span_processor(PhaseSplitter(provider))``.

    Under each finished span that stands for a request to a model it draws `time_to_first_token` and
    `generation`, or `inference` where the span does not tell the two apart, and records
    `llmphases.phase.duration` and `llmphases.call.*`. The span itself stays as it is. One inside of
    which, or around which, a call of ours has seen the request is left alone: it has its phases.

    Args:
        tracer_provider: where the phases go: the provider it is added to; default: the global one.
        meter_provider: the same for metrics.
    """

    def __init__(
        self,
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
    ) -> None:
        self._tracer = trace.get_tracer(names.SCOPE, __version__, tracer_provider)
        self._metrics = MetricsObserver(meter_provider)
        self._is_on = not is_disabled()
        self._covered: _Remembered[bool] = _Remembered()
        """Spans whose request has its phases, by id: in a call of ours, or in a span inside."""
        self._inside: _Remembered[CallRecorder] = _Remembered()
        """Spans inside a call of ours."""

    @never_raises
    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """A span begins: note how it stands to the calls of ours."""
        if _is_ours(span):
            if names.CALL_NAME in (span.attributes or {}):
                self._cover(span)
            return
        frame = frame_around(parent_context)
        call = recorder_of(frame)
        if call is not None and frame is not None:
            if frame.block is not None:  # a block owns what happens in it
                self._covered.put(_id(span), value=True)
            else:
                self._inside.put(_id(span), call)

    @never_raises
    def on_end(self, span: ReadableSpan) -> None:
        """A span has ended: if it is an inference that nobody has split, split it."""
        if _is_ours(span) or span.start_time is None or span.end_time is None:
            return
        around = self._inside.take(_id(span))
        is_covered = self._covered.take(_id(span)) is not None
        if is_inference(span.attributes) and not is_covered:
            if self._is_on and (around is None or not around.nesting.is_spoken):
                self._split(ForeignCall(span, is_nested=around is not None))
            is_covered = True
        if is_covered:
            self._cover(span)

    def shutdown(self) -> None:
        """Split nothing any more."""
        self._is_on = False

    def _cover(self, span: ReadableSpan) -> None:
        """What is around a span that has phases is not split as well."""
        parent = span.parent
        if parent is not None and not parent.is_remote:
            self._covered.put(parent.span_id, value=True)

    def _split(self, call: ForeignCall) -> None:
        context = set_span_in_context(NonRecordingSpan(call.span_context), Context())
        lane = Lane(call.start_ns // 1000)
        for piece in call.pieces():
            drawn = lane.fit(piece.start_ns, piece.end_ns)
            if drawn is not None:
                self._draw(piece, drawn, call, context)
        opened, record = call.opened(), call.record()
        self._metrics.call_started(opened)
        self._metrics.call_ended(opened, record)

    def _draw(
        self, piece: Piece, drawn: tuple[int, int], call: ForeignCall, context: Context
    ) -> None:
        start_us, end_us = drawn
        span = self._tracer.start_span(
            piece.phase.value,
            context=context,
            attributes=phase_attributes(call.phase(piece)),
            start_time=max(start_us * 1000, call.start_ns),  # its parent has no whole microseconds
        )
        if piece.error_type is not None:
            span.set_attribute(names.ERROR_TYPE, piece.error_type)
            span.set_status(_FAILED)
        span.end(end_time=end_us * 1000)


def split_spans_of(
    tracer_provider: TracerProvider | None = None, meter_provider: MeterProvider | None = None
) -> PhaseSplitter | None:
    """Add a `PhaseSplitter` to a provider (the global one); None if it is none of the SDK's."""
    provider = tracer_provider or trace.get_tracer_provider()
    add = getattr(provider, "add_span_processor", None)
    if add is None:
        return None
    splitter = PhaseSplitter(provider, meter_provider)
    add(splitter)
    return splitter


class _Remembered(Generic[T]):
    """What is known of spans that are open, by id; the oldest are forgotten if too many stay so."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, T] = OrderedDict()

    def put(self, span_id: int, value: T) -> None:
        self._known[span_id] = value
        if len(self._known) > _MOST_OPEN:
            self._known.popitem(last=False)

    def take(self, span_id: int) -> T | None:
        return self._known.pop(span_id, None)


def _is_ours(span: Any) -> bool:
    scope = span.instrumentation_scope
    return scope is not None and scope.name == names.SCOPE


def _id(span: Any) -> int:
    return int(span.get_span_context().span_id)
