"""Instruments made of their descriptions."""

from __future__ import annotations

from opentelemetry import baggage
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import get_current_span

from llmphases import conventions as names
from llmphases.observers import OpenCall
from llmphases.otel.instruments import add_known, exemplar_context, histogram, other


def metrics_of(use):
    reader = InMemoryMetricReader()
    use(MeterProvider([reader], shutdown_on_exit=False).get_meter("t"))
    (resource,) = reader.get_metrics_data().resource_metrics
    (scope,) = resource.scope_metrics
    return scope.metrics


def test_a_histogram_has_the_name_unit_and_boundaries_of_its_description():
    (metric,) = metrics_of(lambda meter: histogram(meter, names.CALL_DURATION).record(1))
    described = names.CALL_DURATION
    assert (metric.name, metric.unit) == (described.name, described.unit)
    assert metric.description == described.description
    assert tuple(metric.data.data_points[0].explicit_bounds) == described.boundaries


def test_another_instrument_has_the_name_and_unit_of_its_description():
    (metric,) = metrics_of(lambda m: other(m.create_counter, names.RETRIES_TOTAL).add(1))
    assert (metric.name, metric.unit) == (names.RETRIES_TOTAL.name, names.RETRIES_TOTAL.unit)


def test_labels_are_those_whose_values_are_known():
    labels = {"a": "b"}
    add_known(labels, {"c": None, "d": "e"})
    assert labels == {"a": "b", "d": "e"}


def test_an_exemplar_is_linked_to_the_span_of_what_is_measured_and_baggage_counts():
    call = OpenCall("call", 0, 0, 0)
    assert exemplar_context(call) is None
    call.base = baggage.set_baggage("tenant", "blue", Context())
    call.state = TracerProvider(shutdown_on_exit=False).get_tracer("t").start_span("call")
    context = exemplar_context(call)
    assert get_current_span(context) is call.state
    assert baggage.get_baggage("tenant", context) == "blue"
