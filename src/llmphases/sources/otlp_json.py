"""OTLP in JSON, as the OpenTelemetry file format writes it: parsed requests into span records."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from sys import intern
from typing import Any

from llmphases.calls import AttributeValue
from llmphases.conventions import RUN_ID
from llmphases.sources.contract import SpanRecord

RESOURCE_SPANS = "resourceSpans"
"""The key by which a line is known to hold traces."""

_PROCESS = "service.instance.id"
_NOTHING: dict[str, Any] = {}
_ERROR_STATUS = (2, "STATUS_CODE_ERROR")
_LENGTHS_OF_IDS = (16, 32)
"""How many hexadecimal digits span ids and trace ids have."""


def raw_spans(request: dict[str, Any]) -> Iterator[tuple[Any, str, str]]:
    """Each span of a request as it stands there, with the name of its scope and its run.

    Raises `TypeError` or `AttributeError` where the request is not built as one.
    """
    for resource in request[RESOURCE_SPANS] or ():
        run = _run(resource)
        for scope in resource.get("scopeSpans") or ():
            name = (scope.get("scope") or {}).get("name", "")
            for span in scope.get("spans") or ():
                yield span, name, run


def _run(resource: dict[str, Any]) -> str:
    """The id of the run that recorded it, else that of its process; empty if nobody said."""
    found = ""
    for pair in (resource.get("resource") or {}).get("attributes") or ():
        key = pair.get("key")
        if key in (RUN_ID, _PROCESS):
            value = str((pair.get("value") or {}).get("stringValue", ""))
            if value and key == RUN_ID:
                return value
            found = value or found
    return found


def has_attribute_of(raw: dict[str, Any], prefix: str) -> bool:
    """Whether any attribute's name begins so; far cheaper than reading the span."""
    for pair in raw.get("attributes") or ():  # noqa: SIM110 - a generator costs twice as much
        if pair["key"].startswith(prefix):
            return True
    return False


def ids_of(raw: dict[str, Any]) -> tuple[str, str, str | None]:
    """Trace id, span id and parent id; an empty parent id means that there is none."""
    parent = raw.get("parentSpanId")
    return _id(raw["traceId"]), _id(raw["spanId"]), _id(parent) if parent else None


def span_record(raw: dict[str, Any], scope: str) -> SpanRecord:
    """A span as everything else here knows it.

    Raises `KeyError`, `TypeError`, `ValueError` or `AttributeError` for a damaged one.
    """
    trace_id, span_id, parent_id = ids_of(raw)
    status = raw.get("status") or {}
    return SpanRecord(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=parent_id,
        name=raw.get("name", ""),
        start_unix_ns=int(raw["startTimeUnixNano"]),
        end_unix_ns=int(raw["endTimeUnixNano"]),
        attributes=_attributes(raw.get("attributes") or ()),
        status_error=status.get("code") in _ERROR_STATUS,
        scope=scope,
    )


def _id(value: str) -> str:
    # One string for a trace's id, however many spans have it.
    return intern(value.lower() if len(value) in _LENGTHS_OF_IDS else value)


def _attributes(pairs: Iterable[dict[str, Any]]) -> dict[str, AttributeValue]:
    told: dict[str, AttributeValue] = {}
    for pair in pairs:  # in one loop: a call for each attribute would take as long as all the rest
        value: AttributeValue = ""
        for kind, raw in (pair.get("value") or _NOTHING).items():
            read = _READERS.get(kind)
            if read is not None:
                value = raw if read is _as_it_is else read(raw)
                break
        told[intern(pair["key"])] = value
    return told


def _value(wrapped: dict[str, Any]) -> AttributeValue:
    """An AnyValue; what an attribute of OpenTelemetry cannot be is kept as JSON text."""
    return _attributes(({"key": "", "value": wrapped},))[""]


def _as_it_is(value: AttributeValue) -> AttributeValue:
    return value


def _array(value: dict[str, Any]) -> AttributeValue:
    items = tuple(_value(item) for item in value.get("values") or ())
    kinds = {type(item) for item in items}
    if len(kinds) <= 1 and tuple not in kinds:
        return items  # type: ignore[return-value]  # of one type, as just seen
    return json.dumps(_plain({"arrayValue": value}))


def _plain(wrapped: dict[str, Any]) -> Any:
    """An AnyValue as plain JSON."""
    if "kvlistValue" in wrapped:
        pairs = wrapped["kvlistValue"].get("values") or ()
        return {pair["key"]: _plain(pair["value"]) for pair in pairs}
    if "arrayValue" in wrapped:
        return [_plain(item) for item in wrapped["arrayValue"].get("values") or ()]
    return _value(wrapped) if wrapped else None


def _kvlist(value: dict[str, Any]) -> AttributeValue:
    return json.dumps(_plain({"kvlistValue": value}))


_READERS: dict[str, Callable[[Any], AttributeValue]] = {
    "stringValue": _as_it_is,
    "boolValue": _as_it_is,
    "intValue": int,
    "doubleValue": float,
    "arrayValue": _array,
    "bytesValue": _as_it_is,  # base64 text, as it is here
    "kvlistValue": _kvlist,
}
