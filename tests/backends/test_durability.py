"""What survives the end of a real Jaeger: all that it said it had, however it ends."""

from __future__ import annotations

import signal
import threading

import pytest
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from backends.servers import Jaeger, Ports, started, until
from backends.workload import send


@pytest.fixture
def jaeger(built, tmp_path):
    """One of its own, to be ended; where its metrics should go there is nobody."""
    built("jaeger")
    server = Jaeger(tmp_path / "jaeger", Ports(), prometheus_url="http://127.0.0.1:9")
    try:
        yield server.start()
    finally:
        server.stop(signal.SIGKILL)


class Sender:
    """Sends trace after trace of two spans, and keeps the ids of those that were taken."""

    def __init__(self, jaeger):
        self.acknowledged = []
        self._exporter = OTLPSpanExporter(f"{jaeger.otlp_endpoint}/v1/traces", timeout=5)
        self._made = InMemorySpanExporter()
        provider = TracerProvider(
            resource=Resource({"service.name": "durable"}), shutdown_on_exit=False
        )
        provider.add_span_processor(SimpleSpanProcessor(self._made))
        self._tracer = provider.get_tracer("durable")
        self._has_to_end = threading.Event()
        self._thread = threading.Thread(target=self._send_on)

    def send(self):
        self._made.clear()
        begin = self._tracer.start_as_current_span
        with begin("call") as span, begin("generation"):
            pass
        trace_id = f"{span.get_span_context().trace_id:032x}"
        if self._exporter.export(self._made.get_finished_spans()) is SpanExportResult.SUCCESS:
            self.acknowledged.append(trace_id)

    def _send_on(self):
        while not self._has_to_end.is_set():
            self.send()

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exc):
        self._has_to_end.set()
        self._exporter.shutdown()
        self._thread.join()


def lost(jaeger, trace_ids):
    """Those that are not there with both of their spans."""
    found = []
    for trace_id in trace_ids:
        try:
            if len(jaeger.spans_of(trace_id)) == 2:  # a call and a phase of it
                found.append(trace_id)
        except LookupError:
            pass
    return [trace_id for trace_id in trace_ids if trace_id not in found]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL], ids=["stopped", "killed"])
def test_what_jaeger_has_acknowledged_is_there_when_it_is_back(jaeger, number):
    """Ended in the midst of it, by `docker stop` or by `kill -9`."""
    with Sender(jaeger) as sender:
        until(lambda: len(sender.acknowledged) > 200, "200 traces")
        jaeger.stop(number)
    acknowledged = list(sender.acknowledged)
    jaeger.start()
    gone = lost(jaeger, acknowledged)
    print(f"{number.name}: {len(gone)} of {len(acknowledged)} acknowledged traces are lost")
    assert gone == []


def test_what_came_before_is_there_beside_what_comes_after(jaeger):
    sender = Sender(jaeger)
    sender.send()
    jaeger.stop()
    jaeger.start()
    sender.send()
    assert len(sender.acknowledged) == 2
    until(lambda: lost(jaeger, sender.acknowledged) == [], "both traces")


def test_a_stopped_jaeger_ends_well_and_soon(jaeger):
    assert jaeger.stop(signal.SIGTERM) == 0


# --- metrics ------------------------------------------------------------------------------------
TWO_CALLS = """
clock = fake_clock(began_s_ago=200)
for seconds in (60, 70):
    with llm_call("place_boxes") as call:
        call.request_sent()
        clock.tick(seconds)
        call.first_token()
"""
INCREASE = 'sum(increase(llmphases_call_time_to_first_token_seconds_sum{job="durable"}[5m]))'


@pytest.fixture
def own_stack(built, tmp_path):
    """A stack whose servers may be ended."""
    built("prometheus")
    built("jaeger")
    with started(tmp_path / "stack") as running:
        yield running


def test_metrics_that_come_while_prometheus_is_away_arrive_when_it_is_back(own_stack, tmp_path):
    """Jaeger has them in its memory until then, and tries for five minutes."""
    own_stack.prometheus.stop()
    send(own_stack, tmp_path / "sent", "durable", TWO_CALLS)
    own_stack.prometheus.start()
    assert until(lambda: own_stack.value(INCREASE), "the metrics") == pytest.approx(130)


def test_a_jaeger_that_is_stopped_hands_over_the_metrics_it_has(own_stack, tmp_path):
    send(own_stack, tmp_path / "sent", "durable", TWO_CALLS)
    own_stack.jaeger.stop()
    assert until(lambda: own_stack.value(INCREASE), "the metrics") == pytest.approx(130)


def test_prometheus_counts_as_before_when_it_was_killed(own_stack, tmp_path):
    """When each program began to count is kept as well."""
    send(own_stack, tmp_path / "sent", "durable", TWO_CALLS)
    until(lambda: own_stack.value(INCREASE), "the metrics")
    own_stack.prometheus.stop(signal.SIGKILL)
    own_stack.prometheus.start()
    assert own_stack.value(INCREASE) == pytest.approx(130)


def test_a_killed_jaeger_loses_the_metrics_that_waited_in_it(own_stack, tmp_path):
    """Which were taken: of metrics an acknowledgement promises less than of spans."""
    own_stack.prometheus.stop()
    sent = send(own_stack, tmp_path / "sent", "durable", TWO_CALLS)
    own_stack.jaeger.stop(signal.SIGKILL)
    own_stack.prometheus.start()
    own_stack.jaeger.start()
    send(own_stack, tmp_path / "later", "later", TWO_CALLS)
    own_stack.wait_for('{job="later"}')
    assert own_stack.query('{job="durable"}') == []
    for trace_id in sent.trace_ids:
        assert own_stack.jaeger.spans_of(trace_id)
