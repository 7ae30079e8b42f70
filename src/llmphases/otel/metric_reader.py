"""The periodic reader of metrics: its exporter is watched, and a forked child starts from zero."""

from __future__ import annotations

import threading
from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    MetricReader,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.resources import Resource

from llmphases.otel.delivery import Delivery


class WatchedMetricExporter(MetricExporter):
    """The exporter of a delivery, as the reader wants to see it."""

    def __init__(self, delivery: Delivery) -> None:
        inner: Any = delivery.exporter
        super().__init__(
            preferred_temporality=getattr(inner, "_preferred_temporality", None),
            preferred_aggregation=getattr(inner, "_preferred_aggregation", None),
        )
        self._delivery = delivery

    def export(
        self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any
    ) -> MetricExportResult:
        result = self._delivery.export(metrics_data, timeout_millis=timeout_millis, **kwargs)
        return result if isinstance(result, MetricExportResult) else MetricExportResult.FAILURE

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        return True

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        self._delivery.shutdown()


def make_reader(delivery: Delivery) -> MetricReader:
    """A reader for this exporter; some exporters are readers themselves (Prometheus is asked)."""
    exporter: Any = delivery.exporter
    if isinstance(exporter, MetricReader):
        return exporter
    return PeriodicExportingMetricReader(WatchedMetricExporter(delivery))


def make_provider(readers: list[MetricReader], resource: Resource) -> MeterProvider:
    """A provider whose end is ours to see to."""
    return MeterProvider(readers, resource=resource, shutdown_on_exit=False)


def begin_anew(provider: Any, readers: list[Any]) -> None:
    """In a forked child: count from zero, with locks that nobody holds.

    The SDK lets a child go on with its parent's sums, and each child would report the parent's
    calls once more. A lock held while the process forked would stay locked for good.
    """
    consumer: Any = getattr(provider, "_measurement_consumer", None)
    for storage in getattr(consumer, "_reader_storages", {}).values():
        matches = getattr(storage, "_instrument_view_instrument_matches", None)
        if matches is not None:
            matches.clear()
        if hasattr(storage, "_lock"):
            storage._lock = threading.RLock()
    if hasattr(consumer, "_lock"):
        consumer._lock = threading.Lock()
    for reader in readers:
        if hasattr(reader, "_export_lock"):
            reader._export_lock = threading.Lock()
