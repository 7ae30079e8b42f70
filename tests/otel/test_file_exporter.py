"""The file of OTLP JSON lines."""

from __future__ import annotations

import base64
import json
import logging
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, Parse
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    TraceState,
    set_span_in_context,
)

from llmphases.otel.file_exporter import OtlpJsonFileExporter, encode_line


def _spans() -> list[ReadableSpan]:
    """Spans with everything that OTLP can say."""
    resource = Resource({"service.name": "s", "n": 1}, "https://schema/1")
    tracer = TracerProvider(resource=resource, shutdown_on_exit=False).get_tracer(
        "scope", "1.0", "https://schema/2", {"a": True}
    )
    remote = SpanContext(
        2**127 + 5,
        7,
        is_remote=True,
        trace_flags=TraceFlags(1),
        trace_state=TraceState([("k", "v")]),
    )
    root = tracer.start_span(
        "root",
        context=set_span_in_context(NonRecordingSpan(remote)),
        kind=SpanKind.CLIENT,
        links=[Link(remote, {"why": "because"})],
        start_time=1_700_000_000_000_000_001,
        attributes={
            "text": 'ü \n "quoted"',
            "empty": "",
            "no": False,
            "zero": 0,
            "big": 2**62,
            "negative": -1,
            "double": 0.1,
            "whole": 2.0,
            "nan": float("nan"),
            "inf": float("inf"),
            "minus": float("-inf"),
            "texts": ("a", "b"),
            "doubles": (0.5,),
            "none": (),
        },
    )
    root.add_event("event", {"k": 1}, timestamp=1_700_000_000_000_000_002)
    root.set_status(Status(StatusCode.ERROR, "said"))
    child = tracer.start_span("child", context=set_span_in_context(root), start_time=5)
    bare = (
        TracerProvider(shutdown_on_exit=False).get_tracer("other").start_span("bare", start_time=1)
    )
    for span in (bare, child, root):
        span.end(end_time=1_700_000_000_000_000_003)
    return [bare, child, root]


def _with_hex_ids(told: Any) -> Any:
    if isinstance(told, list):
        return [_with_hex_ids(one) for one in told]
    if isinstance(told, dict):
        return {
            key: base64.b64decode(value).hex()
            if key in {"traceId", "spanId", "parentSpanId"}
            else _with_hex_ids(value)
            for key, value in told.items()
        }
    return told


def _with_base64_ids(told: Any) -> Any:
    if isinstance(told, list):
        return [_with_base64_ids(one) for one in told]
    if isinstance(told, dict):
        return {
            key: base64.b64encode(bytes.fromhex(value)).decode()
            if key in {"traceId", "spanId", "parentSpanId"}
            else _with_base64_ids(value)
            for key, value in told.items()
        }
    return told


def test_a_line_says_what_the_protobuf_exporter_would_send():
    spans = _spans()
    expected = MessageToDict(encode_spans(spans), use_integers_for_enums=True)
    assert json.loads(encode_line(spans)) == _with_hex_ids(expected)


def test_a_line_is_a_request_that_protobuf_reads_back():
    spans = _spans()
    told = json.dumps(_with_base64_ids(json.loads(encode_line(spans))))
    assert Parse(told, ExportTraceServiceRequest()) == encode_spans(spans)


def test_each_batch_is_one_line_at_the_end_of_the_file(tmp_path: Path):
    path = tmp_path / "traces.jsonl"
    path.write_text("what was there\n")
    exporter = OtlpJsonFileExporter(path)
    assert exporter.export(_spans()) is SpanExportResult.SUCCESS
    assert exporter.export(_spans()[:1]) is SpanExportResult.SUCCESS
    exporter.shutdown()
    lines = path.read_bytes().split(b"\n")
    assert lines[0] == b"what was there"
    assert [bool(json.loads(line)["resourceSpans"]) for line in lines[1:3]] == [True, True]
    assert lines[3:] == [b""]


def test_no_span_makes_no_file(tmp_path: Path):
    exporter = OtlpJsonFileExporter(tmp_path / "traces.jsonl")
    assert exporter.export([]) is SpanExportResult.SUCCESS
    exporter.shutdown()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_a_failure_and_one_record(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    exporter = OtlpJsonFileExporter(tmp_path)
    assert exporter.export(_spans()) is SpanExportResult.FAILURE
    assert [record.levelno for record in caplog.records] == [logging.ERROR]


def _append(path: Path) -> None:
    exporter = OtlpJsonFileExporter(path)
    for _ in range(50):
        exporter.export(_spans())


@pytest.mark.slow
def test_several_processes_share_a_file_without_torn_lines(tmp_path: Path):
    path = tmp_path / "traces.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_append, args=(path,)) for _ in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    lines = path.read_text().splitlines()
    assert len(lines) == 200
    assert all(json.loads(line)["resourceSpans"] for line in lines)
