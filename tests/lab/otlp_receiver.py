"""A loopback OTLP/HTTP receiver: decodes protobuf traces and metrics, and keeps them."""

from __future__ import annotations

import gzip
import threading
from dataclasses import dataclass
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from lab.loopback import LoopbackServer, QuietHandler


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSpan:
    """One span as it came over the wire; ids in hex, times in nanoseconds since the epoch."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    """Empty for a root."""
    kind: int
    start_ns: int
    end_ns: int
    attributes: dict[str, Any]
    status_error: bool
    status_message: str
    events: tuple[str, ...]
    scope: str
    resource: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedPoint:
    """One data point of a metric."""

    name: str
    unit: str
    attributes: dict[str, Any]
    value: float | None
    """Of a sum or gauge."""
    count: int | None
    """Of a histogram, as all that follows."""
    sum: float | None
    bounds: tuple[float, ...]
    buckets: tuple[int, ...]
    exemplar_spans: tuple[str, ...]
    resource: dict[str, Any]


class _Handler(QuietHandler):
    def do_POST(self) -> None:
        owner: OtlpReceiver = self.server.owner
        body = self.body()
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        status, answer = owner.take(self.path, dict(self.headers.items()), body)
        self.answer(status, answer, "application/x-protobuf")


class OtlpReceiver(LoopbackServer):
    """The receiver; `url` is for `OTEL_EXPORTER_OTLP_ENDPOINT`.

    Another `status` than 200 refuses what comes from then on; it is counted in `refused`, not kept.
    """

    handler = _Handler

    def __init__(self) -> None:
        super().__init__()
        self.status = 200
        self.refused = 0
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self._changed = threading.Condition()
        self._spans: list[ReceivedSpan] = []
        self._points: list[ReceivedPoint] = []

    def take(self, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        """Keep one export; the status and body to answer with."""
        with self._changed:
            self.paths.append(path)
            self.headers.append({name.lower(): value for name, value in headers.items()})
            if self.status != 200:
                self.refused += 1
                return self.status, b""
            if path == "/v1/traces":
                self._spans += spans_of(ExportTraceServiceRequest.FromString(body))
                answer = ExportTraceServiceResponse().SerializeToString()
            elif path == "/v1/metrics":
                self._points += points_of(ExportMetricsServiceRequest.FromString(body))
                answer = ExportMetricsServiceResponse().SerializeToString()
            else:
                return 404, b""
            self._changed.notify_all()
            return 200, answer

    @property
    def spans(self) -> list[ReceivedSpan]:
        """All spans so far, in order of arrival."""
        with self._changed:
            return list(self._spans)

    @property
    def points(self) -> list[ReceivedPoint]:
        """All metric points so far."""
        with self._changed:
            return list(self._points)

    def wait_for_spans(self, count: int, timeout_s: float = 60.0) -> list[ReceivedSpan]:
        """All spans, once there are `count`; those that came, if it takes too long."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._spans) >= count, timeout_s)
            return list(self._spans)

    def wait_for_points(self, name: str, timeout_s: float = 60.0) -> list[ReceivedPoint]:
        """The points of one metric, once there are any."""

        def found() -> list[ReceivedPoint]:
            return [point for point in self._points if point.name == name]

        with self._changed:
            self._changed.wait_for(found, timeout_s)
            return found()

    def clear(self) -> None:
        """Forget what came."""
        with self._changed:
            self._spans.clear()
            self._points.clear()
            self.paths.clear()
            self.headers.clear()
            self.refused = 0


def spans_of(request: ExportTraceServiceRequest) -> list[ReceivedSpan]:
    """The spans of one export."""
    return [
        _span(span, scope.scope.name, _attributes(resource.resource.attributes))
        for resource in request.resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    ]


def points_of(request: ExportMetricsServiceRequest) -> list[ReceivedPoint]:
    """The metric points of one export."""
    return [
        _point(metric, point, _attributes(resource.resource.attributes))
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        for point in getattr(metric, metric.WhichOneof("data")).data_points
    ]


def _span(span: Any, scope: str, resource: dict[str, Any]) -> ReceivedSpan:
    return ReceivedSpan(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        kind=span.kind,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        attributes=_attributes(span.attributes),
        status_error=span.status.code == span.status.STATUS_CODE_ERROR,
        status_message=span.status.message,
        events=tuple(event.name for event in span.events),
        scope=scope,
        resource=resource,
    )


def _point(metric: Any, point: Any, resource: dict[str, Any]) -> ReceivedPoint:
    is_histogram = metric.WhichOneof("data") == "histogram"
    return ReceivedPoint(
        name=metric.name,
        unit=metric.unit,
        attributes=_attributes(point.attributes),
        value=None if is_histogram else getattr(point, point.WhichOneof("value")),
        count=point.count if is_histogram else None,
        sum=point.sum if is_histogram else None,
        bounds=tuple(point.explicit_bounds) if is_histogram else (),
        buckets=tuple(point.bucket_counts) if is_histogram else (),
        exemplar_spans=tuple(exemplar.span_id.hex() for exemplar in point.exemplars),
        resource=resource,
    )


def _attributes(pairs: Any) -> dict[str, Any]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: Any) -> Any:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return tuple(_value(one) for one in value.array_value.values)
    if kind == "kvlist_value":
        return _attributes(value.kvlist_value.values)
    return getattr(value, kind)
