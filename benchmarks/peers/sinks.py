"""Where what a peer records ends: in this process, counted, and read only to prove it is there."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

NAMES = (
    "gen_ai.response.time_to_first_chunk",
    "gen_ai.server.time_to_first_token",
    "gen_ai.client.operation.time_to_first_chunk",
    "llmphases.call.time_to_first_token",
    "langfuse.observation.completion_start_time",
    "First Token Stream Event",
    "gen_ai.content.completion.chunk",
    "mlflow.chunk.item.0",
    "new_token",
    "completion_start_time",
    "time_to_first_token",
    "ttft",
)
"""Names under which a first token may stand."""
_STANDING_ALONE = r"(?<![\w.]){}(?![\w.])(?!['\"]?\s*[:=]\s*(?:None|null))"
"""A name that is no part of another one, nor a field that was left empty."""


class Sink:
    """Counts what arrives; keeps the text of it while a proof is wanted."""

    def __init__(self) -> None:
        self.records = 0
        self.is_proving = False
        self.flush: Callable[[], Any] = lambda: None
        """Has everything sent that waits; set by who switches a peer on."""
        self.metrics: Callable[[], str] = lambda: ""
        """The metrics so far, as text."""
        self._texts: list[str] = []

    def take(self, text: Callable[[], str]) -> None:
        """One record; `text` is asked only while a proof is wanted."""
        self.records += 1
        if self.is_proving:
            self._texts.append(text())

    def proof(self) -> dict[str, Any]:
        """How much was recorded, and which names of a first token are in it."""
        texts = "\n".join((*self._texts, self.metrics()))
        found = [
            name for name in NAMES if re.search(_STANDING_ALONE.format(re.escape(name)), texts)
        ]
        return {"records": self.records, "first_token": found}


def providers(sink: Sink) -> tuple[Any, Any]:
    """OpenTelemetry's SDK as a service has it, the same for everyone: spans in batches, metrics."""
    from opentelemetry import metrics, trace
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    tracers = TracerProvider()
    tracers.add_span_processor(BatchSpanProcessor(exporter(sink), max_queue_size=100_000))
    reader = InMemoryMetricReader()
    meters = MeterProvider([reader])
    trace.set_tracer_provider(tracers)
    metrics.set_meter_provider(meters)
    sink.flush = tracers.force_flush
    sink.metrics = lambda: _text_of(reader)
    return tracers, meters


def _text_of(reader: Any) -> str:
    data = reader.get_metrics_data()
    return "" if data is None else str(data.to_json())


def exporter(sink: Sink) -> Any:
    """An exporter of spans into the sink."""
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    class IntoSink(SpanExporter):
        def export(self, spans: Any) -> Any:
            for span in spans:
                sink.take(lambda span=span: str(span.to_json()))
            return SpanExportResult.SUCCESS

    return IntoSink()
