"""Others' finished spans, split through the real SDK."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NoOpTracerProvider, StatusCode, set_span_in_context

from llmphases import conventions as names
from llmphases import llm_call, retrieval
from llmphases.capture import current
from llmphases.otel import foreign_spans
from llmphases.otel.foreign_spans import PhaseSplitter, split_spans_of
from llmphases.wiring import default_wiring

T0_NS = 1_700_000_000_000_000_123
SECOND = 1_000_000_000
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
STREAMED = {**CHAT, "gen_ai.response.time_to_first_chunk": 1.5}
PHASES = ["time_to_first_token", "generation"]
RECORDED = json.loads(Path(__file__).with_name("data").joinpath("openlit_1.45.0.json").read_text())


class Lab:
    """A provider with a splitter, another's tracer, and what came out."""

    def __init__(self, **options):
        self._kept, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.provider = TracerProvider(shutdown_on_exit=False, **options)
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.meters = MeterProvider([self._reader], shutdown_on_exit=False)
        self.splitter = split_spans_of(self.provider, self.meters)
        self.tracer = self.provider.get_tracer("another's")

    def begin(self, attributes=None, parent=None, name="chat m"):
        context = None if parent is None else set_span_in_context(parent)
        return self.tracer.start_span(name, context, attributes=attributes, start_time=T0_NS)

    def call(self, attributes, **more):
        span = self.begin(attributes, **more)
        span.end(T0_NS + 4 * SECOND)
        return span

    @property
    def spans(self):
        return self._kept.get_finished_spans()

    @property
    def phases(self):
        return [span for span in self.spans if names.PHASE in span.attributes]

    def under(self, span):
        wanted = span.get_span_context().span_id
        return [one for one in self.phases if one.parent.span_id == wanted]

    def points(self, metric):
        data = self._reader.get_metrics_data()
        return {
            point.attributes.get(names.PHASE, point.attributes[names.CALL_NAME]): point
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for one in scope.metrics
            if one.name == metric
            for point in one.data.data_points
        }


@pytest.fixture
def lab():
    return Lab()


@pytest.fixture
def ours(lab):
    """Calls of ours go to the same provider."""
    current.wire(default_wiring(lab.provider, lab.meters))


def named(spans):
    return [span.name for span in spans]


def test_a_stream_is_split_at_its_first_chunk(lab):
    theirs = lab.call(STREAMED)
    first, generation = lab.under(theirs)
    assert named([first, generation]) == PHASES
    assert first.start_time == T0_NS
    assert first.end_time == (T0_NS + 1500 * SECOND // 1000) // 1000 * 1000 - 1000
    assert generation.start_time == first.end_time + 1000
    assert generation.end_time == (T0_NS + 4 * SECOND) // 1000 * 1000 - 1000
    assert dict(first.attributes) == {
        names.PHASE: "time_to_first_token",
        names.COST: "fixed",
        names.ORIGIN: "reported",
        names.REQUEST_INDEX: 0,
        names.TOLD_BY: "conventions",
        names.FIRST_TOKEN_RULE: "first_chunk",
    }


def test_their_span_stays_as_it_is(lab):
    theirs = lab.call(STREAMED)
    assert dict(theirs.attributes) == STREAMED


def test_where_nothing_tells_it_is_inference(lab):
    (phase,) = lab.under(lab.call(CHAT))
    assert (phase.name, phase.attributes[names.COST]) == ("inference", "unsplit")
    assert phase.attributes[names.ORIGIN] == "measured"
    assert names.TOLD_BY not in phase.attributes


def test_a_request_that_failed_before_its_first_chunk_is_no_inference(lab):
    theirs = lab.begin({**CHAT, "error.type": "RateLimitError"})
    theirs.set_status(StatusCode.ERROR)
    theirs.end(T0_NS + SECOND)
    (phase,) = lab.under(theirs)
    assert (phase.name, phase.status.status_code) == ("retry", StatusCode.ERROR)
    assert phase.attributes[names.ERROR_TYPE] == "RateLimitError"


def test_a_stream_that_broke_keeps_what_was_seen(lab):
    theirs = lab.begin(STREAMED)
    theirs.set_status(StatusCode.ERROR)
    theirs.end(T0_NS + 4 * SECOND)
    assert named(lab.under(theirs)) == PHASES


def test_a_time_outside_of_the_span_is_marked_and_not_drawn(lab):
    (phase,) = lab.under(lab.call({**CHAT, "gen_ai.response.time_to_first_chunk": 9.0}))
    assert phase.name == "inference"
    assert phase.attributes[names.REPORTED_TRUSTED] is False
    assert phase.attributes[f"{names.REPORTED_PREFIX}time_to_first_chunk"] == 9.0


@pytest.mark.parametrize("kind", ["stream", "whole"])
def test_what_openlit_calls_its_time_to_first_token_is_marked_and_not_drawn(lab, kind):
    """The server held the headers back for 0.3 s. A whole answer has no first token at all."""
    wrote = RECORDED[kind]
    tracer = lab.provider.get_tracer(wrote["scope"])
    theirs = tracer.start_span(
        wrote["name"], attributes=wrote["attributes"], start_time=wrote["start_ns"]
    )
    theirs.end(wrote["end_ns"])
    (phase,) = lab.under(theirs)
    assert phase.name == "inference"
    assert phase.attributes[names.REPORTED_TRUSTED] is False
    said = phase.attributes[f"{names.REPORTED_PREFIX}time_to_first_token"]
    assert said == wrote["attributes"]["gen_ai.server.time_to_first_token"]


def test_of_more_events_than_an_sdk_keeps_the_first_are_gone():
    lab = Lab(span_limits=SpanLimits(max_events=2))
    theirs = lab.begin(CHAT)
    for n in range(1, 4):
        theirs.add_event("gen_ai.content.completion.chunk", timestamp=T0_NS + n * SECOND)
    theirs.end(T0_NS + 4 * SECOND)
    assert named(lab.under(theirs)) == ["inference"]


def test_a_call_too_short_for_a_microsecond_is_counted_and_not_drawn(lab):
    lab.begin(CHAT).end(T0_NS + 500)
    assert lab.phases == []
    assert lab.points("llmphases.phase.duration")["inference"].sum == 500 / 1e9


@pytest.mark.parametrize(
    "attributes", [None, {"gen_ai.operation.name": "invoke_agent"}, {"http.request.method": "POST"}]
)
def test_other_spans_are_left_alone(lab, attributes):
    lab.call(attributes)
    assert lab.phases == []


def test_of_inferences_inside_each_other_the_innermost_is_split(lab):
    outer = lab.begin(CHAT)
    between = lab.begin({"openinference.span.kind": "CHAIN"}, outer)
    inner = lab.call(STREAMED, parent=between)
    between.end(T0_NS + 4 * SECOND)
    outer.end(T0_NS + 4 * SECOND)
    assert named(lab.under(inner)) == PHASES
    assert lab.under(outer) == []
    assert lab.points("llmphases.call.duration")["chat m"].count == 1


def test_metrics_of_phases_and_calls(lab):
    lab.call({**STREAMED, "gen_ai.provider.name": "openai"})
    points = lab.points("llmphases.phase.duration")
    assert {name: point.sum for name, point in points.items()} == {
        "time_to_first_token": 1.5,
        "generation": 2.5,
    }
    (call,) = lab.points("llmphases.call.duration").values()
    assert call.sum == 4.0
    assert dict(call.attributes) == {
        names.CALL_NAME: "chat m",
        names.CALL_NESTED: False,
        names.PROVIDER_NAME: "openai",
        names.REQUEST_MODEL: "m",
    }
    # A first chunk may be empty: that is no time to first token. And gen_ai.* are theirs to record.
    assert lab.points("llmphases.call.time_to_first_token") == {}


@pytest.mark.usefixtures("ours")
def test_in_a_call_of_ours_that_saw_the_request_theirs_is_left_alone(lab):
    with llm_call("mine") as call:
        call.request_sent()
        theirs = lab.call(STREAMED)
        call.first_token()
    assert lab.under(theirs) == []


@pytest.mark.usefixtures("ours")
def test_in_a_call_of_ours_that_saw_nothing_theirs_is_split_as_a_nested_one(lab):
    with llm_call("mine"):
        theirs = lab.call(STREAMED)
    assert named(lab.under(theirs)) == PHASES
    found = lab.points("llmphases.call.duration")
    assert found["chat m"].attributes[names.CALL_NESTED] is True
    assert found["mine"].attributes[names.CALL_NESTED] is False


@pytest.mark.usefixtures("ours")
def test_a_block_owns_what_happens_in_it(lab):
    with llm_call("mine"), retrieval():
        theirs = lab.call(STREAMED)
    assert lab.under(theirs) == []


@pytest.mark.usefixtures("ours")
def test_around_a_call_of_ours_theirs_is_left_alone(lab):
    theirs = lab.begin(STREAMED)
    with lab.tracer.start_as_current_span("between", set_span_in_context(theirs)), llm_call("mine"):
        pass
    theirs.end(T0_NS + 4 * SECOND)
    assert lab.under(theirs) == []


def test_nothing_is_split_once_it_is_shut_down(lab):
    lab.splitter.shutdown()
    lab.call(STREAMED)
    assert lab.phases == []


def test_switched_off_it_splits_nothing(monkeypatch):
    monkeypatch.setenv(names.ENV_DISABLED, "1")
    lab = Lab()
    lab.call(STREAMED)
    assert lab.phases == []


def test_what_is_not_sampled_is_not_split():
    lab = Lab(sampler=ALWAYS_OFF)
    lab.call(STREAMED)
    assert lab.spans == ()


def test_a_fault_of_ours_does_not_reach_the_program(lab, monkeypatch, caplog):
    monkeypatch.setattr(foreign_spans, "ForeignCall", None)
    lab.call(STREAMED)
    assert named(lab.spans) == ["chat m"]
    assert "a fault in PhaseSplitter.on_end" in caplog.text


def test_of_spans_that_never_end_only_so_many_are_remembered(lab, monkeypatch):
    monkeypatch.setattr(foreign_spans, "_MOST_OPEN", 2)
    parents = [lab.begin(CHAT) for _ in range(3)]
    for parent in parents:
        lab.call(STREAMED, parent=parent)
    for parent in parents:
        parent.end(T0_NS + 4 * SECOND)
    assert [named(lab.under(parent)) for parent in parents] == [["inference"], [], []]


def test_only_a_provider_of_the_sdk_can_be_split():
    assert split_spans_of(NoOpTracerProvider()) is None
    assert isinstance(split_spans_of(TracerProvider(shutdown_on_exit=False)), PhaseSplitter)
