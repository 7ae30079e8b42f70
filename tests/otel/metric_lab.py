"""A real SDK around the metrics observer, and what it recorded."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from llmphases import conventions as names
from llmphases.observers import OpenCall
from llmphases.otel.metrics import MetricsObserver
from otel.pieces import ended, open_call, record_of


class Lab:
    """An observer, and what it recorded."""

    def __init__(self, **options: Any) -> None:
        self._reader = InMemoryMetricReader()
        provider = MeterProvider([self._reader], shutdown_on_exit=False)
        self.observer = MetricsObserver(provider, **options)

    def call(self, call: OpenCall | None = None, **known: Any) -> None:
        call = call or open_call()
        self.observer.call_started(call)
        self.observer.call_ended(ended(call, 9), record_of(call, **known))

    def points(self) -> dict[str, list[Any]]:
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: list(metric.data.data_points)
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def values(self, metric: names.Metric) -> list[tuple[dict[str, Any], float]]:
        return [
            (dict(point.attributes), getattr(point, "sum", None) or getattr(point, "value", 0))
            for point in self.points().get(metric.name, [])
        ]
