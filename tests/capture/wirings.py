"""The two ways calls are recorded in these tests: into memory, and through a real SDK."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from llmphases.calls import Call
from llmphases.capture import current
from llmphases.clock import SystemClock
from llmphases.observers import Observers
from llmphases.otel.carrier import OtelCarrier
from llmphases.otel.metrics import MetricsObserver
from llmphases.otel.spans import SpanObserver
from llmphases.testing import CollectingObserver, FakeClock, recorded
from llmphases.wiring import wiring_with


@dataclass(frozen=True)
class Exported:
    """What left the process, as the SDK's own exporters saw it."""

    memory: InMemorySpanExporter
    reader: InMemoryMetricReader
    provider: TracerProvider
    heard: CollectingObserver = field(default_factory=CollectingObserver)

    @property
    def spans(self) -> list[ReadableSpan]:
        """All ended spans, in the order of their end."""
        return list(self.memory.get_finished_spans())

    @property
    def calls(self) -> list[Call]:
        return self.heard.calls

    def named(self, name: str) -> list[ReadableSpan]:
        """Ended spans of one name."""
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> ReadableSpan:
        """The only span of that name."""
        (span,) = self.named(name)
        return span

    def forget(self) -> None:
        """Start anew, so that thousands of programs need no memory."""
        self.memory.clear()
        for kept in (self.heard.calls, self.heard.open_calls, self.heard.phases, self.heard.jobs):
            kept.clear()

    def points(self) -> dict[str, list[Any]]:
        """Every metric point recorded so far, by instrument."""
        data = self.reader.get_metrics_data()
        found: dict[str, list[Any]] = {}
        for resource in data.resource_metrics if data is not None else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    found.setdefault(metric.name, []).extend(metric.data.data_points)
        return found


@contextlib.contextmanager
def exported(clock: FakeClock | None = None) -> Iterator[Exported]:
    """The default wiring, with providers of its own instead of the global ones."""
    memory, reader = InMemorySpanExporter(), InMemoryMetricReader()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    meters = MeterProvider([reader])
    sink = Exported(memory, reader, provider)
    observers = Observers([SpanObserver(provider), MetricsObserver(meters), sink.heard])
    before = current.wire(wiring_with(observers, OtelCarrier(), clock or SystemClock))
    try:
        yield sink
    finally:
        current.wire(before)
        meters.shutdown()
        provider.shutdown()


WIRINGS = {"plain": recorded, "otel": exported}


def forget(sink: Any) -> None:
    """Drop what a wiring has collected."""
    if isinstance(sink, Exported):
        sink.forget()
    else:
        for kept in (sink.calls, sink.open_calls, sink.phases, sink.jobs):
            kept.clear()
