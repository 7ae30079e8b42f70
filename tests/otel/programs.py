"""Small traced programs, run as processes of their own: how they end is what is tested."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PRELUDE = """
import atexit, os, sys, time, threading

def left():
    # Set before any exit hook of ours, and so called after them.
    if has_said_last_line:
        print("LEFT", time.monotonic(), flush=True)

has_said_last_line = []
atexit.register(left)
from llmphases.calls import Call
from llmphases.conventions import STREAM_ENDED
from llmphases.observers import OpenCall
from llmphases.otel import setup
from llmphases.otel.setup import configure, flush
from llmphases.otel.spans import SpanObserver
from llmphases.otel.metrics import MetricsObserver
from llmphases.phases import Phase

watching = []
open_calls = []

def begin(name="call"):
    if not watching:
        watching.extend([SpanObserver(), MetricsObserver()])
    now = time.perf_counter_ns()
    wall = time.time_ns()
    call = OpenCall(name, now, wall - now, wall // 1000)
    for observer in watching:
        observer.call_started(call)
    open_calls.append(call)
    return call

def end(call, ended=None):
    open_calls.remove(call)
    took = time.perf_counter_ns() - call.start_ns
    call.drawn_end_us = call.drawn_start_us + max(1, took // 1000)
    times = {Phase.INFERENCE: took}
    record = Call(name=call.name, start_unix_ns=call.drawn_start_us * 1000, duration_ns=took,
                  exclusive_ns=times, outside_inner_ns=times, requests=1, ended=ended)
    for observer in watching:
        observer.call_ended(call, record)

def traced(name="call"):
    end(begin(name))

def close_open_calls():
    from llmphases.calls import Ended
    for call in list(open_calls):
        end(call, Ended.EXIT)

def set_up_as_usual(**options):
    return configure(before_exit=close_open_calls, **options)

def set_up(**options):
    # Patient: what a busy machine does not manage in a second is to arrive all the same.
    return set_up_as_usual(**{"exit_deadline_s": 30, **options})

def last_line():
    # What is measured from here on is how long the process takes to end.
    has_said_last_line.append(True)
    print("LAST", time.monotonic(), flush=True)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a program ended."""

    status: int
    out: str
    complaints: list[str]
    """The lines on stderr."""
    exit_delay_s: float | None
    """From the program's last line until all exit hooks of ours were through."""
    end_s: float | None
    """From its last line to the end of its process."""


def start(
    body: str,
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    *,
    before: Sequence[str] = (),
) -> subprocess.Popen[str]:
    """Run a program that begins with the prelude; `before` is a command that runs commands."""
    program = cwd / "program.py"
    program.write_text(PRELUDE + textwrap.dedent(body))
    return subprocess.Popen(
        [*before, sys.executable, str(program)],
        cwd=cwd,
        # What a program has printed counts, also where it ends by a signal or `os._exit`.
        env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> Ended:
    """Wait for its end."""
    out, complaints = process.communicate(timeout=120)
    ended_at = time.monotonic()
    stamps = dict(line.split() for line in out.splitlines() if line.startswith(("LAST ", "LEFT ")))
    last_at = float(stamps["LAST"]) if stamps else None
    return Ended(
        status=process.returncode,
        out=out,
        complaints=complaints.splitlines(),
        exit_delay_s=None if last_at is None else float(stamps["LEFT"]) - last_at,
        end_s=None if last_at is None else ended_at - last_at,
    )


def run(body: str, cwd: Path, environment: Mapping[str, str] | None = None) -> Ended:
    """Run a program to its end."""
    return finish(start(body, cwd, environment))


def closed_port() -> int:
    """A loopback port on which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


@contextmanager
def silent_port() -> Iterator[int]:
    """A loopback port that accepts connections and never answers."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen(64)
        yield one.getsockname()[1]
