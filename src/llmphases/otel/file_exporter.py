"""Writes spans to a file of OTLP JSON lines, as the OpenTelemetry file exporter format says.

One line is one `ExportTraceServiceRequest`. A line is one `write` to a file opened for appending,
so several processes may share it.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status

Json = dict[str, Any]

_logger = logging.getLogger(__name__)

_KINDS = {
    SpanKind.INTERNAL: 1,
    SpanKind.SERVER: 2,
    SpanKind.CLIENT: 3,
    SpanKind.PRODUCER: 4,
    SpanKind.CONSUMER: 5,
}
_FLAG_REMOTE_IS_KNOWN = 0x100
_FLAG_PARENT_IS_REMOTE = 0x200


class OtlpJsonFileExporter(SpanExporter):
    """Appends to `path`, which is opened at the first export and made if it does not exist.

    A file that cannot be written fails that batch (one log record on this module's logger) and is
    tried again with the next.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._descriptor: int | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        if not spans:
            return SpanExportResult.SUCCESS
        try:
            self._append(encode_line(spans))
        except OSError as error:
            _logger.error(  # noqa: TRY400  # the trace would tell no more
                "Failed to write spans to %s: %s", self.path, error.strerror or error
            )
            return SpanExportResult.FAILURE
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)

    def force_flush(self, timeout_millis: int = 30000) -> bool:
        return True

    def _append(self, line: bytes) -> None:
        if self._descriptor is None:
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
            self._descriptor = os.open(self.path, flags, 0o644)
        rest = memoryview(line)
        while rest:  # one round, but for a full disk or a pipe
            rest = rest[os.write(self._descriptor, rest) :]


def encode_line(spans: Sequence[ReadableSpan]) -> bytes:
    """These spans as one line of OTLP JSON, its newline included."""
    by_resource: dict[Resource, dict[InstrumentationScope | None, list[Json]]] = {}
    for span in spans:
        scopes = by_resource.setdefault(span.resource, {})
        scopes.setdefault(span.instrumentation_scope, []).append(_span(span))
    request = {
        "resourceSpans": [
            _resource_spans(resource, scopes) for resource, scopes in by_resource.items()
        ]
    }
    return json.dumps(request, separators=(",", ":")).encode() + b"\n"


def _resource_spans(
    resource: Resource, scopes: Mapping[InstrumentationScope | None, list[Json]]
) -> Json:
    return _without_empty(
        {
            "resource": _attributed({}, resource.attributes),
            "scopeSpans": [_scope_spans(scope, spans) for scope, spans in scopes.items()],
            "schemaUrl": resource.schema_url,
        },
        keep=("resource",),
    )


def _scope_spans(scope: InstrumentationScope | None, spans: list[Json]) -> Json:
    if scope is None:
        return {"scope": {}, "spans": spans}
    told = _without_empty({"name": scope.name, "version": scope.version})
    return _without_empty(
        {
            "scope": _attributed(told, scope.attributes),
            "spans": spans,
            "schemaUrl": scope.schema_url,
        },
        keep=("scope",),
    )


def _span(span: ReadableSpan) -> Json:
    context = span.context
    assert context is not None
    parent = span.parent
    told: Json = {"traceId": f"{context.trace_id:032x}", "spanId": f"{context.span_id:016x}"}
    if context.trace_state:
        told["traceState"] = ",".join(f"{k}={v}" for k, v in context.trace_state.items())
    if parent is not None:
        told["parentSpanId"] = f"{parent.span_id:016x}"
    told["flags"] = _flags(parent)
    told["name"] = span.name
    told["kind"] = _KINDS[span.kind]
    told["startTimeUnixNano"] = str(int(span.start_time or 0))
    told["endTimeUnixNano"] = str(int(span.end_time or 0))
    _attributed(told, span.attributes)
    told |= _without_empty(
        {
            "droppedAttributesCount": span.dropped_attributes,
            "events": [_event(event) for event in span.events],
            "droppedEventsCount": span.dropped_events,
            "links": [_link(link) for link in span.links],
            "droppedLinksCount": span.dropped_links,
        }
    )
    told["status"] = _status(span.status)
    return told


def _flags(parent: SpanContext | None) -> int:
    if parent is not None and parent.is_remote:
        return _FLAG_REMOTE_IS_KNOWN | _FLAG_PARENT_IS_REMOTE
    return _FLAG_REMOTE_IS_KNOWN


def _event(event: Event) -> Json:
    told: Json = {"timeUnixNano": str(int(event.timestamp)), "name": event.name}
    _attributed(told, event.attributes)
    return told | _without_empty({"droppedAttributesCount": event.dropped_attributes})


def _link(link: Link) -> Json:
    context = link.context
    told: Json = {"traceId": f"{context.trace_id:032x}", "spanId": f"{context.span_id:016x}"}
    _attributed(told, link.attributes)
    told |= _without_empty({"droppedAttributesCount": link.dropped_attributes})
    told["flags"] = _flags(context)
    return told


def _status(status: Status) -> Json:
    return _without_empty({"message": status.description, "code": status.status_code.value})


def _attributed(told: Json, attributes: Mapping[str, Any] | None) -> Json:
    if attributes:
        told["attributes"] = [{"key": k, "value": _value(v)} for k, v in attributes.items()]
    return told


def _value(value: Any) -> Json:  # noqa: PLR0911  # one line per kind
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": _number(value)}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    if isinstance(value, Sequence):
        return {"arrayValue": _without_empty({"values": [_value(v) for v in value]})}
    if isinstance(value, Mapping):
        pairs = [{"key": str(k), "value": _value(v)} for k, v in value.items()]
        return {"kvlistValue": _without_empty({"values": pairs})}
    return {}


def _number(value: float) -> float | str:
    """A double as JSON writes it; what JSON does not have, as protobuf's JSON does."""
    if math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _without_empty(told: Json, keep: tuple[str, ...] = ()) -> Json:
    return {key: value for key, value in told.items() if value or key in keep}
