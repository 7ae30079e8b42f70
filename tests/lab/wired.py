"""Real OpenTelemetry around a test: spans to memory, to a loopback receiver and to a file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor

from llmphases.calls import Call
from llmphases.capture import current
from llmphases.observers import Observers
from llmphases.otel.carrier import OtelCarrier
from llmphases.otel.file_exporter import OtlpJsonFileExporter
from llmphases.otel.spans import SpanObserver
from llmphases.testing import CollectingObserver
from llmphases.wiring import wiring_with


@dataclass(slots=True)
class Wired:
    """What a test sees of its calls."""

    provider: TracerProvider
    heard: CollectingObserver

    @property
    def calls(self) -> list[Call]:
        return self.heard.calls


@contextmanager
def wired(*, endpoint: str | None = None, file: Path | None = None) -> Iterator[Wired]:
    """Record by a provider of its own, which exports to what is given."""
    provider = TracerProvider(shutdown_on_exit=False)
    if endpoint is not None:
        exporter = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")
        provider.add_span_processor(BatchSpanProcessor(exporter))
    if file is not None:
        provider.add_span_processor(SimpleSpanProcessor(OtlpJsonFileExporter(file)))
    heard = CollectingObserver()
    observers = Observers([SpanObserver(provider), heard])
    before = current.wire(wiring_with(observers, OtelCarrier()))
    try:
        yield Wired(provider, heard)
        provider.force_flush()
    finally:
        current.wire(before)
        provider.shutdown()
