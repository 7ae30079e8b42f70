"""Waiting for others, but not for ever."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from contextlib import suppress

from opentelemetry import context as otel_context

from llmphases.clock import SystemClock
from llmphases.observers import guard


class Deadline:
    """A moment from now on."""

    def __init__(self, seconds: float) -> None:
        self._end_ns = SystemClock.now() + int(seconds * 1e9)

    def left_s(self) -> float:
        """Seconds until then; 0.0 afterwards."""
        return max(0.0, (self._end_ns - SystemClock.now()) / 1e9)


class Running:
    """Runs what may block for longer than anyone waits, in a daemon thread.

    That is started without `threading`: a program that a signal has interrupted may hold its locks.
    """

    def __init__(self, function: Callable[[], object], *, is_traced: bool = False) -> None:
        name = getattr(function, "__qualname__", repr(function))
        self._function = guard(function, default=False, what=name)
        self._is_traced = is_traced
        self._has_worked = False
        self._done = threading.Event()
        with suppress(RuntimeError):  # no threads any more, the interpreter ends
            _thread.start_new_thread(self._run, ())

    def _run(self) -> None:
        if not self._is_traced:
            suppress_instrumentation()
        self._has_worked = self._function() is not False
        self._done.set()

    def has_worked(self, within_s: float) -> bool:
        """Wait for it; False if it takes longer, has raised, or has said False."""
        return self._done.wait(within_s) and self._has_worked


def suppress_instrumentation() -> None:
    """In this thread: the requests that exporters make are nobody's LLM calls."""
    key = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", "suppress_instrumentation")
    otel_context.attach(otel_context.set_value(key, value=True))


def force_flush_of(provider: object) -> Callable[[], object] | None:
    """How a provider hands over what it holds; None for one that holds nothing."""
    found: Callable[[], object] | None = getattr(provider, "force_flush", None)
    return found
