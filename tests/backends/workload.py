"""Traced programs of their own process, that send to a stack: what they did is what is to be seen.

A program is Python that finds `configure`d llmphases, and where it asks for it a `clock` that moves
only when told (`clock.tick(68)`): minutes of calls take no time, and their durations are exact.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backends.servers import Stack

TESTS = Path(__file__).parents[1]

_PRELUDE = """
import os, sys, time
sys.path.insert(0, {tests!r})
import llmphases
from llmphases import *
from llmphases.capture import current
from llmphases.observers import Observers
from llmphases.otel.carrier import OtelCarrier
from llmphases.otel.metrics import MetricsObserver
from llmphases.otel.spans import SpanObserver
from llmphases.testing import FakeClock
from llmphases.wiring import wiring_with

llmphases.configure(
    endpoint={endpoint!r}, protocol={protocol!r}, metrics_endpoint={metrics!r},
    service_name={service!r}, file="sent.jsonl", exit_deadline_s=60,
)

def fake_clock(began_s_ago=0.0):
    clock = FakeClock(wall_ns=time.time_ns() - round(began_s_ago * 1e9))
    current.wire(wiring_with(Observers([SpanObserver(), MetricsObserver()]), OtelCarrier(), clock))
    return clock

"""


@dataclass(slots=True)
class Sent:
    """What a program has sent, and said."""

    service: str
    out: str
    file: Path
    """The same spans, as OTLP JSON lines."""
    spans: list[dict[str, Any]] = field(default_factory=list)
    """OTLP JSON, `resource` added to each."""

    @property
    def trace_ids(self) -> list[str]:
        """Each once, in the order of the first span's end."""
        return list(dict.fromkeys(span["traceId"] for span in self.spans))


def send(stack: Stack, folder: Path, service: str, body: str, protocol: str | None = None) -> Sent:
    """Run a program to its end, and read what it has sent.

    A `stack` with a `metrics_endpoint` gets its metrics there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    endpoint = stack.otlp_grpc_endpoint if protocol == "grpc" else stack.otlp_endpoint
    prelude = _PRELUDE.format(
        tests=str(TESTS),
        endpoint=endpoint,
        protocol=protocol,
        metrics=getattr(stack, "metrics_endpoint", None),
        service=service,
    )
    path = folder / "program.py"
    path.write_text(prelude + textwrap.dedent(body))
    done = subprocess.run(
        [sys.executable, str(path)],
        cwd=folder,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == "", "it complained"
    file = folder / "sent.jsonl"
    return Sent(service, done.stdout, file, _spans_in(file))


def run_llmphases(
    stack: Stack, folder: Path, *words: str, read: str | None = None, **variables: str
) -> str:
    """Run `llmphases` with these words and variables; gives what it printed.

    The one variable that it always has is that of the endpoint. `read` is its standard input.
    """
    done = subprocess.run(
        [sys.executable, "-m", "llmphases", *words],
        cwd=folder,
        env={**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": stack.otlp_endpoint, **variables},
        input=read,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _spans_in(file: Path) -> list[dict[str, Any]]:
    return [
        {**span, "resource": resource["resource"], "scope": scope["scope"]}
        for line in file.read_text("utf-8").splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
