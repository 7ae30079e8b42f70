"""A web server that streams a traced generator: one trace, and whose time it was.

The real uvicorn and Starlette, and clients that read as they like.
"""

from __future__ import annotations

import asyncio
import gc
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from lab.tries import tries
from lab.wired import Wired, wired
from llmphases import Ended, Phase, step, traced_llm_call
from llmphases.clock import sleep
from llmphases.recorder.collected import settle

uvicorn = pytest.importorskip("uvicorn")
applications = pytest.importorskip("starlette.applications")
responses = pytest.importorskip("starlette.responses")
routing = pytest.importorskip("starlette.routing")

pytestmark = [pytest.mark.real, pytest.mark.slow]
PATIENCE_S = 30.0
PIECE = "x" * 1_000_000
"""More than sockets hold: who does not read it holds the stream up."""


@traced_llm_call
async def answer_async(pieces: int) -> Any:
    """A model that thinks for 50 ms before each piece."""
    for _ in range(pieces):
        await asyncio.sleep(0.05)
        with step("inside"):
            pass
        yield PIECE


@traced_llm_call
def answer(pieces: int) -> Any:
    """The same; Starlette takes each step in some thread of its pool."""
    for _ in range(pieces):
        sleep(0.05)
        with step("inside"):
            pass
        yield PIECE


class Traced:
    """As an instrumentation of the server has it: a span around each request."""

    def __init__(self, app: Any, tracer: Any) -> None:
        self.app, self.tracer = app, tracer

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        with self.tracer.start_as_current_span("GET"):
            await self.app(scope, receive, send)


@pytest.fixture
def seen() -> Iterator[tuple[Wired, InMemorySpanExporter]]:
    with wired() as found:
        exporter = InMemorySpanExporter()
        found.provider.add_span_processor(SimpleSpanProcessor(exporter))
        yield found, exporter


@pytest.fixture
def port(seen: tuple[Wired, InMemorySpanExporter]) -> Iterator[int]:
    routes = [
        routing.Route(f"/{kind.__name__}/{{pieces:int}}", _route(kind))
        for kind in (answer, answer_async)
    ]
    tracer = seen[0].provider.get_tracer("the server's")
    app = Traced(applications.Starlette(routes=routes), tracer)
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    yield listening.getsockname()[1]
    server.should_exit = True
    thread.join(PATIENCE_S)
    listening.close()


def _route(kind: Any) -> Any:
    async def route(request: Any) -> Any:
        return responses.StreamingResponse(kind(request.path_params["pieces"]))

    return route


def asked(port: int, path: str) -> socket.socket:
    client = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n".encode())
    return client


def read_to_the_end(client: socket.socket) -> int:
    with client:
        return sum(map(len, iter(lambda: client.recv(1 << 20), b"")))


def until(is_so: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


KINDS = pytest.mark.parametrize("kind", ["answer", "answer_async"])


@KINDS
def test_a_streamed_answer_is_one_trace(
    seen: tuple[Wired, InMemorySpanExporter], port: int, kind: str
) -> None:
    found, exporter = seen
    assert read_to_the_end(asked(port, f"/{kind}/3")) > 3 * len(PIECE)
    until(lambda: found.calls and any(s.name == "GET" for s in exporter.get_finished_spans()))
    (call,) = found.calls
    assert (call.ended, call.chunks) == (Ended.EXHAUSTED, 3)
    spans = {span.name: span for span in exporter.get_finished_spans()}
    assert {span.context.trace_id for span in spans.values()} == {spans["GET"].context.trace_id}
    assert spans[kind].parent.span_id == spans["GET"].context.span_id
    for phase in ("time_to_first_token", "generation"):
        assert spans[phase].parent.span_id == spans[kind].context.span_id
    assert spans["inside"].parent.span_id in {
        spans[name].context.span_id for name in (kind, "time_to_first_token", "generation")
    }


@KINDS
def test_a_client_that_goes_away_ends_the_call(
    seen: tuple[Wired, InMemorySpanExporter], port: int, kind: str
) -> None:
    """A generator that is not async is let go of, and not closed: that is the collector's to do.

    So it is without us.
    """
    found, _ = seen

    def has_ended() -> object:
        if kind == "answer":
            gc.collect()
            settle()
        return found.calls

    with asked(port, f"/{kind}/100000") as client:
        client.recv(1)
    until(has_ended)
    (call,) = found.calls
    assert call.ended in {Ended.CLOSED, Ended.CANCELLED, Ended.DROPPED}
    assert call.chunks < 100_000


@KINDS
def test_a_client_that_reads_slowly_is_transmission(
    seen: tuple[Wired, InMemorySpanExporter], port: int, kind: str
) -> None:
    found, _ = seen
    for attempt in tries():
        found.calls.clear()
        client = asked(port, f"/{kind}/12")
        client.recv(1)
        time.sleep(0.6)  # the sockets are full long before
        read_to_the_end(client)
        until(lambda: found.calls)
        (call,) = found.calls
        assert sum(call.exclusive_ns.values()) + call.unattributed_ns == call.duration_ns
        with attempt:
            assert call.exclusive_ns[Phase.TRANSMISSION] > 200_000_000
            assert call.exclusive_ns[Phase.GENERATION] >= 11 * 50_000_000
