"""The receiver keeps what the real exporters send."""

from __future__ import annotations

import pytest
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import Status, StatusCode

from lab.otlp_receiver import OtlpReceiver


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip])
def test_spans_arrive_with_all_that_they_say(compression):
    with OtlpReceiver() as receiver:
        exporter = OTLPSpanExporter(f"{receiver.url}/v1/traces", compression=compression)
        provider = TracerProvider(resource=Resource({"service.name": "lab"}))
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        tracer = provider.get_tracer("a.scope")
        attributes = {"s": "x", "i": 2**40, "f": 0.5, "b": True, "many": ("p", "q")}
        with tracer.start_as_current_span("outer", start_time=1_000) as outer:
            inner = tracer.start_span("inner", attributes=attributes, start_time=2_000)
            inner.set_status(Status(StatusCode.ERROR, "why"))
            inner.end(3_000)
        provider.shutdown()
        first, second = receiver.wait_for_spans(2)
    assert first.name == "inner"
    assert first.parent_id == second.span_id == f"{outer.get_span_context().span_id:016x}"
    assert (first.start_ns, first.end_ns) == (2_000, 3_000)
    assert first.attributes == attributes
    assert (first.status_error, first.status_message) == (True, "why")
    assert second.parent_id == ""
    assert first.scope == "a.scope"
    assert first.resource["service.name"] == "lab"


def test_metrics_arrive_with_buckets():
    with OtlpReceiver() as receiver:
        exporter = OTLPMetricExporter(f"{receiver.url}/v1/metrics")
        reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
        provider = MeterProvider(metric_readers=[reader])
        meter = provider.get_meter("a.scope")
        histogram = meter.create_histogram(
            "took", "s", explicit_bucket_boundaries_advisory=[1.0, 2.0]
        )
        histogram.record(1.5, {"k": "v"})
        meter.create_counter("times").add(3)
        provider.shutdown()
        (took,) = receiver.wait_for_points("took")
        (times,) = receiver.wait_for_points("times")
    assert (took.count, took.sum, took.bounds, took.buckets) == (1, 1.5, (1.0, 2.0), (0, 1, 0))
    assert (took.unit, took.attributes) == ("s", {"k": "v"})
    assert times.value == 3


def test_a_refusal_is_counted_and_nothing_is_kept():
    with OtlpReceiver() as receiver:
        receiver.status = 400
        provider = TracerProvider()
        provider.add_span_processor(
            SimpleSpanProcessor(OTLPSpanExporter(f"{receiver.url}/v1/traces"))
        )
        provider.get_tracer("t").start_span("lost").end()
        provider.shutdown()
        assert receiver.refused == 1
        assert receiver.spans == []
