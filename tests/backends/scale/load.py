"""Volume: jobs as llmphases sends them, by OTLP, with account of what was acknowledged.

A job is one trace: its own span, and for each call the call's span and seven phases.
"""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections.abc import Sequence
from typing import Self
from urllib.parse import urlsplit

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

CALLS = 25
PHASES = {
    "queue_wait": "fixed",
    "prompt_build": "fixed",
    "process_startup": "fixed",
    "time_to_first_token": "fixed",
    "generation": "generation",
    "transmission": "delivery",
    "post_processing": "delivery",
}
SPANS_OF_A_CALL = 1 + len(PHASES)
SPANS_OF_A_JOB = 1 + CALLS * SPANS_OF_A_CALL
_CALL_ATTRIBUTES = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "acme",
    "gen_ai.request.model": "acme-large-2",
    "gen_ai.response.model": "acme-large-2-2026-10-01",
    "llmphases.call.name": "place_boxes",
    "llmphases.first_token.rule": "init event",
    "llmphases.stream.ended": "exhausted",
    "process.executable.name": "acme",
    "gen_ai.usage.input_tokens": 48211,
    "gen_ai.usage.output_tokens": 131,
    "llmphases.requests": 1,
    "llmphases.retries": 0,
    "process.pid": 40712,
    "process.exit.code": 0,
    "gen_ai.response.time_to_first_chunk": 68.1,
    "llmphases.fixed.duration": 68.2,
    "llmphases.generation.duration": 1.9,
    "llmphases.delivery.duration": 0.1,
    "llmphases.fixed.share": 0.973,
    "llmphases.call.time_to_first_token": 68.1,
}


class Job:
    """One trace that is sent again and again, as another one each time."""

    def __init__(self, service: str) -> None:
        self._random = random.Random()  # seeded by the machine: no two are alike
        self._request = ExportTraceServiceRequest()
        spans = self._request.resource_spans.add()
        _set(spans.resource, {"service.name": service, "telemetry.sdk.language": "python"})
        scope = spans.scope_spans.add()
        scope.scope.name = "llmphases"
        self._root = _span(scope.spans.add(), "place_boxes_job", {"llmphases.job.name": "boxes"})
        self._calls = []
        for _ in range(CALLS):
            call = _span(scope.spans.add(), "place_boxes", _CALL_ATTRIBUTES)
            phases = [
                _span(
                    scope.spans.add(),
                    phase,
                    {
                        "llmphases.phase": phase,
                        "llmphases.cost": cost,
                        "llmphases.origin": "measured",
                    },
                )
                for phase, cost in PHASES.items()
            ]
            self._calls.append((call, phases))

    def next(self) -> tuple[str, frozenset[str], bytes]:
        """A new trace's id, the ids of its spans, and the request that sends it."""
        trace_id = self._random.randbytes(16)
        now = time.time_ns()
        ids = set()

        def place(span: Span, parent: bytes, start_ns: int, end_ns: int) -> bytes:
            span.trace_id = trace_id
            span.span_id = self._random.randbytes(8)
            span.parent_span_id = parent
            span.start_time_unix_nano = now + start_ns
            span.end_time_unix_nano = now + end_ns
            ids.add(span.span_id.hex())
            return span.span_id

        second = 10**9
        root = place(self._root, b"", -80 * second, 0)
        for number, (call, phases) in enumerate(self._calls):
            start = -75 * second + number * 1000
            owner = place(call, root, start, start + 70 * second)
            for index, phase in enumerate(phases):
                begin = start + index * 10 * second
                place(phase, owner, begin, begin + 10 * second - 1000)
        return trace_id.hex(), frozenset(ids), self._request.SerializeToString()


class Load:
    """Threads that send jobs to the first of some endpoints that takes them, until told to end.

    `pace` is how many spans per second they send at most, all together.
    """

    def __init__(
        self,
        service: str,
        endpoints: Sequence[str],
        *,
        pace: float = float("inf"),
        threads: int = 2,
    ) -> None:
        self.acknowledged: dict[str, frozenset[str]] = {}
        """The ids of a trace's spans, for each trace that was taken."""
        self.refused = 0
        """How often an endpoint did not take one."""
        self._endpoints = endpoints
        self._rest_s = threads * SPANS_OF_A_JOB / pace
        self._has_to_end = threading.Event()
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._send_on, args=(Job(service), number))
            for number in range(threads)
        ]
        self.began = self.ended = 0.0

    @property
    def spans(self) -> int:
        """How many spans were acknowledged so far."""
        return len(self.acknowledged) * SPANS_OF_A_JOB

    @property
    def per_second(self) -> float:
        """Spans that were acknowledged, per second of sending."""
        return self.spans / (self.ended - self.began)

    def __enter__(self) -> Self:
        self.began = time.monotonic()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._has_to_end.set()
        for thread in self._threads:
            thread.join()
        self.ended = time.monotonic()

    def wait(self, spans: int) -> None:
        """Return when so many spans more were acknowledged."""
        goal = self.spans + spans
        end = time.monotonic() + 120
        while self.spans < goal:
            assert time.monotonic() < end, f"{goal - self.spans} spans are not taken"
            time.sleep(0.02)

    def _send_on(self, job: Job, number: int) -> None:
        turn = number
        while not self._has_to_end.is_set():
            trace_id, span_ids, body = job.next()
            due = time.monotonic() + self._rest_s
            # What was not acknowledged is sent again, as a program does.
            while not self._has_to_end.is_set():
                if post(self._endpoints[turn % len(self._endpoints)], body):
                    with self._lock:
                        self.acknowledged[trace_id] = span_ids
                    break
                self.refused += 1
                turn += 1
                self._has_to_end.wait(0.05)
            self._has_to_end.wait(max(0.0, due - time.monotonic()))


def request(
    service: str, spans: Sequence[tuple[str, dict[str, str | float]]], *, failed: bool = False
) -> tuple[str, frozenset[str], bytes]:
    """A trace of a root and its children, by name and attributes: id, ids of its spans, request.

    It is a second long. With `failed`, the root has the status of an error.
    """
    made = ExportTraceServiceRequest()
    resource = made.resource_spans.add()
    _set(resource.resource, {"service.name": service})
    scope = resource.scope_spans.add()
    trace_id, now = random.randbytes(16), time.time_ns()
    parent = b""
    for name, attributes in spans:
        span = _span(scope.spans.add(), name, attributes)
        span.trace_id, span.span_id = trace_id, random.randbytes(8)
        span.parent_span_id = parent
        span.start_time_unix_nano, span.end_time_unix_nano = now - 10**9, now
        if not parent:
            span.status.code = Status.STATUS_CODE_ERROR if failed else Status.STATUS_CODE_UNSET
        parent = parent or span.span_id
    ids = frozenset(span.span_id.hex() for span in scope.spans)
    return trace_id.hex(), ids, made.SerializeToString()


def part_of(body: bytes, names: set[str]) -> bytes:
    """The same request with the spans of some names only, as a trace comes in pieces."""
    whole = ExportTraceServiceRequest.FromString(body)
    for resource in whole.resource_spans:
        for scope in resource.scope_spans:
            kept = [span for span in scope.spans if span.name in names]
            del scope.spans[:]
            scope.spans.extend(kept)
    return whole.SerializeToString()


def post(endpoint: str, body: bytes, timeout_s: float = 30) -> bool:
    """Whether a request with spans is acknowledged, all of it."""
    parts = urlsplit(endpoint)
    assert parts.hostname
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout_s)
    try:
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
        answer = connection.getresponse()
        said = answer.read()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
    if answer.status != 200:
        return False
    rejected = ExportTraceServiceResponse.FromString(said).partial_success.rejected_spans
    return rejected == 0


def _span(span: Span, name: str, attributes: dict[str, str | float]) -> Span:
    span.name = name
    span.kind = Span.SPAN_KIND_INTERNAL
    _set(span, attributes)
    return span


def _set(owner: object, attributes: dict[str, str | float]) -> None:
    for key, value in attributes.items():
        pair = owner.attributes.add(key=key)
        if isinstance(value, str):
            pair.value.string_value = value
        elif isinstance(value, int):
            pair.value.int_value = value
        else:
            pair.value.double_value = value
