"""Draws calls, phases and jobs as OpenTelemetry spans, live.

Needs the API only. Every time comes from the recorder as whole microseconds: nothing is computed
or clamped here.
"""

from __future__ import annotations

from typing import Any

from opentelemetry import trace
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanKind,
    Status,
    StatusCode,
    TracerProvider,
    set_span_in_context,
)

from llmphases import __version__
from llmphases.calls import Call
from llmphases.conventions import COST, ERROR_TYPE, PHASE, REQUEST_INDEX, SCOPE
from llmphases.observers import Observer, OpenCall, OpenJob, OpenPhase, OpenSpan
from llmphases.otel.attributes import (
    Attributes,
    call_attributes,
    call_start_attributes,
    exportable,
    job_attributes,
    phase_attributes,
    with_usage_of_ours,
)
from llmphases.otel.carrier import frame_of, is_suppressed, span_in
from llmphases.otel.foreign_watch import told_elsewhere

_FAILED = Status(StatusCode.ERROR)
"""Without a description: an exception's message may hold what must not leave the program."""


class SpanObserver(Observer):
    """Writes to `tracer_provider`, or to the global one, also if that is set only later.

    The span of a call, phase or job is left in its `state`: the carrier makes it current. A call
    made where instrumentation is suppressed has none, nor have its phases.
    """

    hears_on = True

    def __init__(self, tracer_provider: TracerProvider | None = None) -> None:
        self._tracer = trace.get_tracer(SCOPE, __version__, tracer_provider)
        self._provider = tracer_provider
        self._watches = self._watch()

    def _watch(self) -> bool:
        """Hear of others' spans; False as long as the program has set no provider."""
        provider: Any = self._provider or trace.get_tracer_provider()
        if not hasattr(provider, "add_span_processor"):
            return False
        from llmphases.otel.foreign_watcher import watch  # noqa: PLC0415  # knows the SDK

        watch(provider)
        return True

    def job_started(self, job: OpenJob) -> None:
        if not is_suppressed(job.base):
            job.state = self._start(job, job.name, job.base, job_attributes(job))

    def job_ended(self, job: OpenJob) -> None:
        if _is_recorded(job.state):
            job.state.set_attributes(job_attributes(job))
            _end(job)

    def call_started(self, call: OpenCall) -> None:
        if not self._watches:
            self._watches = self._watch()
        if not is_suppressed(call.base):
            attributes = call_start_attributes(call)
            call.state = self._start(call, call.name, call.base, attributes, SpanKind.CLIENT)

    def call_ended(self, call: OpenCall, record: Call) -> None:
        span = call.state
        if not _is_recorded(span):
            return
        attributes = call_attributes(record)
        if record.usage is not None and told_elsewhere(call).usage:
            attributes = with_usage_of_ours(attributes)
        span.set_attributes(_news(call_start_attributes(call), attributes))
        _rename(span, record.name)
        if record.error_type is not None:
            span.set_status(_FAILED)
        _end(call)

    def phase_started(self, phase: OpenPhase) -> None:
        if is_suppressed(phase.base):
            return
        owner = phase.parent or phase.call
        if owner is not None and not _is_recorded(owner.state):
            phase.state = owner.state  # not sampled, or suppressed: so is what is inside
            return
        phase.state = self._start(phase, phase.name, _context_of(phase), phase_attributes(phase))

    def phase_written(self, phase: OpenPhase) -> None:
        self.phase_started(phase)
        if _is_recorded(phase.state):
            _close(phase)

    def phase_ended(self, phase: OpenPhase) -> None:
        span = phase.state
        if not _is_recorded(span):
            return
        late: Attributes = exportable(phase.attributes) if phase.attributes else {}
        if _rename(span, phase.name) or phase.is_detail:
            late[PHASE] = phase.phase.value
            late[COST] = phase.cost.value
            if phase.request is not None:
                late[REQUEST_INDEX] = phase.request
        if late:
            span.set_attributes(late)
        _close(phase)

    def _start(
        self,
        what: OpenSpan,
        name: str,
        context: Any,
        attributes: Attributes,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        return self._tracer.start_span(
            name,
            context=context,
            kind=kind,
            attributes=attributes,
            start_time=int(what.drawn_start_us) * 1000,  # one float, and the whole batch is lost
        )


def _context_of(phase: OpenPhase) -> Any:
    """Where the span of a phase hangs: below its parent's, or a user's own inside of that."""
    base, parent = phase.base, phase.parent
    if parent is None:
        return base
    if base is None:
        return set_span_in_context(parent.state, parent.base)
    current = span_in(base)
    if current is parent.state:
        return base
    is_live = phase.end_ns is None
    if is_live and current is not None and _is_foreign(current, base):
        return base
    return set_span_in_context(parent.state, base)


def _is_foreign(current: Span, base: Any) -> bool:
    frame = frame_of(base)
    if frame is not None and frame.owner is not None and frame.owner.state is current:
        return False
    return current.get_span_context().is_valid


def _news(said: Attributes, attributes: Attributes) -> Attributes:
    """Without what the span has said at its start: an SDK checks and copies each one again."""
    for key, value in said.items():
        if attributes.get(key) == value:
            del attributes[key]
    return attributes


def _is_recorded(span: Span | None) -> bool:
    # Not is_recording(): that is also False for a parent that has ended, and phases known only
    # afterwards hang below such ones.
    # And not isinstance(), which costs ten times as much of an abstract class.
    return span is not None and type(span) is not NonRecordingSpan


def _rename(span: Any, name: str) -> bool:
    """Give a span its final name; whether that was news."""
    if getattr(span, "name", None) == name:
        return False
    span.update_name(name)
    return True


def _close(phase: OpenPhase) -> None:
    if phase.error_type is not None:
        phase.state.set_attribute(ERROR_TYPE, phase.error_type)
        phase.state.set_status(_FAILED)
    _end(phase)


def _end(what: OpenSpan) -> None:
    end_us = what.drawn_end_us
    if end_us is None:
        raise ValueError(f"{what!r} has ended, but nobody said where it is drawn to")
    what.state.end(end_time=int(end_us) * 1000)
