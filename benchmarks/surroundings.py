"""Where everything is measured: in a context that a service may have, with OpenTelemetry's SDK.

The spans go through a batch processor to an exporter that throws them away, the metrics wait for a
reader; the trace's root span and four context variables of somebody else are current.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, Sampler

from llmphases.capture import current
from llmphases.observers import Observers
from llmphases.otel.carrier import OtelCarrier
from llmphases.otel.metrics import MetricsObserver
from llmphases.otel.spans import SpanObserver
from llmphases.wiring import wiring_with

_OTHERS = [ContextVar(f"of_somebody_else_{n}") for n in range(4)]
_kept: list[Token[Any]] = []


class NullExporter(SpanExporter):
    """Takes everything and keeps nothing."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


@dataclass(frozen=True, slots=True)
class Sdk:
    """The providers in force, and what the metrics have come to."""

    tracers: TracerProvider
    meters: MeterProvider
    reader: InMemoryMetricReader


def start(sampler: Sampler = ALWAYS_ON, *, exporter: SpanExporter | None = None) -> Sdk:
    """Set everything up in this process, and wire llmphases to it."""
    tracers = TracerProvider(sampler=sampler, shutdown_on_exit=False)
    tracers.add_span_processor(
        BatchSpanProcessor(exporter or NullExporter(), max_queue_size=100_000)
    )
    reader = InMemoryMetricReader()
    meters = MeterProvider([reader], shutdown_on_exit=False)
    observers = Observers([SpanObserver(tracers), MetricsObserver(meters)])
    current.wire(wiring_with(observers, OtelCarrier()))
    root = tracers.get_tracer("service").start_span("request")
    _kept.append(otel_context.attach(trace.set_span_in_context(root)))
    _kept.extend(variable.set(n) for n, variable in enumerate(_OTHERS))
    return Sdk(tracers, meters, reader)


def another_context() -> Any:
    """One that is not current: to set what is current already costs next to nothing."""
    return Context(otel_context.get_current())
