"""What others tell of a request is not told again by the call that it is in."""

from __future__ import annotations

import gc
import weakref

import pytest
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler

from llmphases import llm_call, retrieval
from llmphases.capture import current
from llmphases.otel import foreign_watch
from llmphases.wiring import default_wiring

CHAT = {"gen_ai.operation.name": "chat"}
GENERATION = {"langfuse.observation.type": "generation"}
THEIRS, OURS = "gen_ai.usage.output_tokens", "llmphases.usage.output_tokens"


class Switch(Sampler):
    """Samples as told."""

    is_on = True

    def should_sample(self, *args, **kwargs):
        return (ALWAYS_ON if self.is_on else ALWAYS_OFF).should_sample(*args, **kwargs)

    def get_description(self):
        return "as told"


class Lab:
    def __init__(self):
        self._kept, self._reader = InMemorySpanExporter(), InMemoryMetricReader()
        self.sampler = Switch()
        self.provider = TracerProvider(self.sampler, shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))
        meters = MeterProvider([self._reader], shutdown_on_exit=False)
        self.tracer = self.provider.get_tracer("another's")
        current.wire(default_wiring(self.provider, meters))

    def call(self, name="mine", attributes=CHAT, *, late=None, scope=None, context=None):
        """A call of ours with a request in it that another's span tells of."""
        tracer = self.tracer if scope is None else self.provider.get_tracer(scope)
        with llm_call(name) as call:
            call.request_sent()
            with tracer.start_as_current_span("chat m", context, attributes=attributes) as span:
                span.set_attributes(late or {})
            call.usage(output_tokens=5)

    def told(self, name="mine"):
        """Where the tokens of a call of ours stand."""
        (span,) = [one for one in self._kept.get_finished_spans() if one.name == name]
        return [key for key in (THEIRS, OURS) if key in span.attributes]

    def metrics(self):
        """The requests that we counted in the conventions' metrics."""
        data = self._reader.get_metrics_data()
        return sum(
            point.count
            for resource in (data.resource_metrics if data else ())
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric.name == "gen_ai.client.inference.duration"
            for point in metric.data.data_points
        )


@pytest.fixture
def lab(monkeypatch):
    monkeypatch.setattr(foreign_watch, "_last", {})
    return Lab()


def test_tokens_and_metrics_that_others_tell_are_not_told_again(lab):
    lab.call()
    assert (lab.told(), lab.metrics()) == ([OURS], 0)


def test_of_others_without_metrics_ours_are_kept(lab):
    lab.call(attributes=GENERATION)
    assert (lab.told(), lab.metrics()) == ([OURS], 1)


def test_the_sdk_of_anthropic_draws_spans_and_has_no_metrics(lab):
    lab.call(scope="com.anthropic.sdk.python")
    assert (lab.told(), lab.metrics()) == ([OURS], 1)


def test_what_their_span_is_may_be_said_only_after_its_start(lab):
    lab.call(attributes={}, late=CHAT)
    assert (lab.told(), lab.metrics()) == ([OURS], 0)


def test_their_span_may_be_given_a_context_made_of_nothing(lab):
    lab.call(context=Context())
    assert lab.told() == [OURS]


def test_without_others_we_tell_it(lab):
    lab.call(attributes={"http.request.method": "POST"})
    assert (lab.told(), lab.metrics()) == ([THEIRS], 1)


def test_what_others_tell_of_a_block_is_the_blocks(lab):
    with llm_call("mine") as call:
        with retrieval(), lab.tracer.start_as_current_span("chat m", attributes=CHAT):
            pass
        call.request_sent()
        call.usage(output_tokens=5)
    assert (lab.told(), lab.metrics()) == ([THEIRS], 1)


def test_theirs_may_be_around_ours(lab):
    with lab.tracer.start_as_current_span("chat m", attributes=CHAT), llm_call("mine") as call:
        call.request_sent()
        call.usage(output_tokens=5)
    assert (lab.told(), lab.metrics()) == ([OURS], 0)


def test_an_inner_call_keeps_what_is_told_of_it_to_itself(lab):
    with llm_call("outer") as call:
        call.request_sent()
        call.usage(output_tokens=5)
        lab.call("inner")
    assert (lab.told("inner"), lab.told("outer")) == ([OURS], [THEIRS])


def test_of_many_spans_in_a_call_the_one_that_counts_is_found(lab):
    with llm_call("mine") as call:
        call.request_sent()
        for _ in range(200):
            lab.tracer.start_span("SELECT").end()
        lab.tracer.start_span("chat m", attributes=CHAT).end()
        for _ in range(200):
            lab.tracer.start_span("SELECT").end()
        call.usage(output_tokens=5)
    assert lab.told() == [OURS]


def test_of_calls_that_are_not_sampled_what_is_known_of_their_like_counts(lab):
    lab.sampler.is_on = False
    lab.call()
    assert lab.metrics() == 1  # nothing is known yet
    lab.sampler.is_on = True
    lab.call()
    lab.sampler.is_on = False
    lab.call()
    assert lab.metrics() == 1
    lab.call("another")
    assert lab.metrics() == 2


def test_what_was_true_of_a_name_may_change(lab):
    lab.call()
    lab.call(attributes={})
    lab.sampler.is_on = False
    lab.call()
    assert lab.metrics() == 2


def test_a_fault_of_ours_does_not_reach_the_program(lab, monkeypatch, caplog):
    monkeypatch.setattr(foreign_watch, "frame_around", None)
    lab.call()
    assert "a fault in note_start" in caplog.text


def test_a_context_that_outlives_the_call_keeps_no_spans_of_others(lab):
    """A task that was begun in the call has one, and may go on for as long as the program."""
    spans = []

    def theirs(context=None):
        with lab.tracer.start_as_current_span("chat m", context, attributes=CHAT) as span:
            spans.append(weakref.ref(span))

    with llm_call("mine") as call:
        call.request_sent()
        kept = otel_context.get_current()
        theirs()
        call.usage(output_tokens=5)
    theirs(kept)
    gc.collect()
    assert [span() for span in spans] == [None, None]
    assert lab.told() == [OURS]
