"""Spans as the observer draws them, through the real SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given
from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode

from llmphases import conventions as names
from llmphases.observers import Frame, Observers, OpenCall
from llmphases.otel.carrier import OtelCarrier
from llmphases.otel.spans import SpanObserver
from llmphases.phases import Phase
from otel.pieces import T0_US, ended, open_call, open_job, open_phase, record_of


class Lab:
    """An observer, and what it drew."""

    def __init__(self, **options: Any) -> None:
        self._kept = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False, **options)
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.observer = SpanObserver(self.provider)
        self.carrier = OtelCarrier()
        self.tracer = self.provider.get_tracer("a library")

    def inside(self, owner: Any, base: Any = None) -> Any:
        """The context value in which the owner's span is current."""
        return self.carrier.enter(base, Frame(owner=owner))

    def end(self, call: OpenCall, at_us: int = 5000, **known: Any) -> None:
        self.observer.call_ended(ended(call, at_us), record_of(call, **known))

    @property
    def spans(self) -> dict[str, ReadableSpan]:
        return {span.name: span for span in self._kept.get_finished_spans()}


@pytest.fixture
def lab() -> Iterator[Lab]:
    return Lab()


def _parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def _id(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def test_a_call_is_a_client_span_with_the_recorders_times(lab: Lab):
    call = open_call(at_us=7, provider="openai", request_model="m")
    lab.observer.call_started(call)
    at_start = dict(call.state.attributes)
    lab.end(call, 5000)
    span = lab.spans["place_boxes"]
    assert span.kind is SpanKind.CLIENT
    assert (span.start_time, span.end_time) == ((T0_US + 7) * 1000, (T0_US + 5000) * 1000)
    assert span.status.status_code is StatusCode.UNSET
    assert at_start == {
        names.OPERATION_NAME: "chat",
        names.PROVIDER_NAME: "openai",
        names.REQUEST_MODEL: "m",
        names.CALL_NAME: "place_boxes",
        names.CALL_NESTED: False,
    }


def test_the_span_current_where_a_call_starts_is_its_parent(lab: Lab):
    theirs = lab.tracer.start_span("request handler")
    call = open_call(base=trace.set_span_in_context(theirs, Context()))
    lab.observer.call_started(call)
    lab.end(call)
    assert _parent(lab.spans["place_boxes"]) == theirs.get_span_context().span_id


def test_a_failed_call_has_a_type_and_no_message(lab: Lab):
    """RC-058: an exception's text may hold what must not leave the program."""
    call = open_call()
    lab.observer.call_started(call)
    lab.end(call, error_type="TimeoutError")
    span = lab.spans["place_boxes"]
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None
    assert span.events == ()
    assert span.attributes[names.ERROR_TYPE] == "TimeoutError"


def test_a_call_named_only_at_its_end_is_renamed(lab: Lab):
    call = open_call()
    lab.observer.call_started(call)
    call.name = "chat m"
    lab.end(call)
    assert set(lab.spans) == {"chat m"}


def test_a_live_phase_hangs_below_its_call(lab: Lab):
    call = open_call()
    lab.observer.call_started(call)
    phase = open_phase(Phase.RETRIEVAL, 10, call, call=call, base=lab.inside(call))
    lab.observer.phase_started(phase)
    lab.observer.phase_ended(ended(phase, 20))
    lab.end(call)
    span = lab.spans["retrieval"]
    assert span.kind is SpanKind.INTERNAL
    assert _parent(span) == _id(lab.spans["place_boxes"])
    assert (span.start_time, span.end_time) == ((T0_US + 10) * 1000, (T0_US + 20) * 1000)


def test_a_live_phase_hangs_below_a_users_own_span_that_is_current(lab: Lab):
    call = open_call()
    lab.observer.call_started(call)
    inside = lab.inside(call)
    own = lab.tracer.start_span("my step", context=inside)
    base = trace.set_span_in_context(own, inside)
    live = open_phase(Phase.PROMPT_BUILD, 10, call, call=call, base=base)
    written = open_phase(Phase.TIME_TO_FIRST_TOKEN, 30, call, call=call, base=base)
    lab.observer.phase_started(live)
    lab.observer.phase_ended(ended(live, 20))
    lab.observer.phase_written(ended(written, 40))
    lab.end(call)
    assert _parent(lab.spans["prompt_build"]) == own.get_span_context().span_id
    assert _parent(lab.spans["time_to_first_token"]) == _id(lab.spans["place_boxes"])


def test_a_phase_whose_base_is_elsewhere_in_our_own_spans_hangs_below_its_parent(lab: Lab):
    call = open_call()
    lab.observer.call_started(call)
    block = open_phase(Phase.RETRIEVAL, 10, call, call=call, base=lab.inside(call))
    lab.observer.phase_started(block)
    other = open_phase(Phase.PROMPT_BUILD, 12, call, call=call, base=lab.inside(block))
    lab.observer.phase_started(other)
    for piece in (other, block):
        lab.observer.phase_ended(ended(piece, 20))
    lab.end(call)
    assert _parent(lab.spans["prompt_build"]) == _id(lab.spans["place_boxes"])


def test_a_detail_known_only_afterwards_hangs_below_a_phase_that_has_ended(lab: Lab):
    call = open_call()
    lab.observer.call_started(call)
    first = open_phase(Phase.TIME_TO_FIRST_TOKEN, 10, call, call=call)
    lab.observer.phase_started(first)
    lab.observer.phase_ended(ended(first, 50))
    detail = open_phase(
        Phase.TIME_TO_FIRST_TOKEN, 12, first, call=call, name="connect", is_detail=True
    )
    lab.observer.phase_written(ended(detail, 20))
    lab.end(call)
    assert _parent(lab.spans["connect"]) == _id(lab.spans["time_to_first_token"])


def test_a_phase_that_turns_out_to_be_another_is_renamed(lab: Lab):
    call = open_call()
    lab.observer.call_started(call)
    phase = open_phase(Phase.TIME_TO_FIRST_TOKEN, 10, call, call=call, request=0)
    lab.observer.phase_started(phase)
    phase.phase, phase.name = Phase.INFERENCE, Phase.INFERENCE.value
    phase.attributes["process.exit.code"] = 0
    lab.observer.phase_ended(ended(phase, 50))
    lab.end(call)
    attributes = lab.spans["inference"].attributes
    assert (attributes[names.PHASE], attributes[names.COST]) == ("inference", "unsplit")
    assert attributes["process.exit.code"] == 0
    assert "time_to_first_token" not in lab.spans


def test_a_failed_attempt_is_an_error(lab: Lab):
    call = open_call()
    lab.observer.call_started(call)
    attempt = open_phase(Phase.RETRY, 10, call, call=call, error_type="ReadTimeout")
    lab.observer.phase_written(ended(attempt, 50))
    span = lab.spans["retry"]
    assert span.status.status_code is StatusCode.ERROR
    assert span.attributes[names.ERROR_TYPE] == "ReadTimeout"


def test_a_block_outside_any_call_hangs_below_what_is_current(lab: Lab):
    theirs = lab.tracer.start_span("request handler")
    base = trace.set_span_in_context(theirs, Context())
    phase = open_phase(Phase.PROMPT_BUILD, 0, base=base)
    lab.observer.phase_started(phase)
    lab.observer.phase_ended(ended(phase, 9))
    assert _parent(lab.spans["prompt_build"]) == theirs.get_span_context().span_id


def test_a_job_holds_its_waits_and_calls(lab: Lab):
    job = open_job()
    lab.observer.job_started(job)
    wait = open_phase(Phase.QUEUE_WAIT, 1, job, job=job)
    lab.observer.phase_written(ended(wait, 5))
    call = open_call(at_us=6, job=job, base=lab.inside(job))
    lab.observer.call_started(call)
    lab.end(call)
    job.chunks = 1
    lab.observer.job_ended(ended(job, 6000))
    span = lab.spans["boxes"]
    assert span.kind is SpanKind.INTERNAL
    assert span.attributes[names.JOB_WAVES] == 1
    assert _parent(lab.spans["queue_wait"]) == _parent(lab.spans["place_boxes"]) == _id(span)
    assert lab.spans["place_boxes"].attributes[names.JOB_NAME] == "boxes"


def test_nothing_is_drawn_where_instrumentation_is_suppressed(lab: Lab):
    suppressed = otel_context.set_value("suppress_instrumentation", True, Context())
    call = open_call(base=suppressed)
    lab.observer.call_started(call)
    phase = open_phase(Phase.RETRIEVAL, 10, call, call=call, base=suppressed)
    lone = open_phase(Phase.RETRIEVAL, 10, base=suppressed)
    for piece in (phase, lone):
        lab.observer.phase_started(piece)
        lab.observer.phase_ended(ended(piece, 20))
    lab.end(call)
    assert lab.spans == {}
    assert call.state is None


def test_a_call_that_is_not_sampled_draws_nothing_but_carries_its_trace():
    lab = Lab(sampler=ALWAYS_OFF)
    call = open_call()
    lab.observer.call_started(call)
    phase = open_phase(Phase.RETRIEVAL, 10, call, call=call, base=lab.inside(call))
    lab.observer.phase_started(phase)
    assert phase.state is call.state
    assert trace.get_current_span(lab.inside(phase)).get_span_context().is_valid
    lab.observer.phase_ended(ended(phase, 20))
    lab.end(call)
    assert lab.spans == {}


def test_a_provider_set_later_counts_from_then_on():
    observer = SpanObserver()
    call = open_call()
    observer.call_started(call)
    observer.call_ended(ended(call, 9), record_of(call))
    assert not call.state.is_recording()


@given(st.integers(0, 10**9), st.integers(1, 10**9), st.booleans())
def test_times_reach_the_encoder_as_whole_nanoseconds(start: int, length: int, odd_clock: bool):
    """RC-079, RC-098: one float among a batch's times, and the encoder drops the whole batch."""
    lab = Lab()
    call = open_call(at_us=start)
    phase = open_phase(Phase.GENERATION, start, call, call=call)
    lab.observer.call_started(call)
    lab.observer.phase_started(phase)
    for piece in (phase, call):
        ended(piece, start + length)
        if odd_clock:
            piece.drawn_end_us = float(piece.drawn_end_us)
    lab.observer.phase_ended(phase)
    lab.observer.call_ended(call, record_of(call))
    for span in lab.spans.values():
        assert type(span.start_time) is type(span.end_time) is int
        assert span.start_time % 1000 == span.end_time % 1000 == 0
        assert span.end_time - span.start_time == length * 1000
    encode_spans(list(lab.spans.values()))


def test_a_batch_of_default_spans_stays_far_below_a_receivers_limit(lab: Lab):
    """RC-053: 512 spans with everything we say by default are less than 4 MiB."""
    call = open_call()
    lab.observer.call_started(call)
    lab.end(call, reported={f"timing_{n}": 1.5 for n in range(40)}, requests=3)
    batch = [lab.spans["place_boxes"]] * 512
    assert encode_spans(batch).ByteSize() < 4 * 1024 * 1024
    assert json.loads(batch[0].to_json())


def test_a_processor_that_raises_once_ends_no_tracing(lab: Lab, caplog: pytest.LogCaptureFixture):
    class Raising(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            if span.name == "second":
                raise OSError("disk full")

    lab.provider.add_span_processor(Raising())
    observers = Observers([lab.observer])
    for name in ("first", "second", "third"):
        call = open_call(name)
        observers.call_started(call)
        observers.call_ended(ended(call, 5000), record_of(call))
    assert set(lab.spans) == {"first", "second", "third"}
    assert len(caplog.records) == 1
