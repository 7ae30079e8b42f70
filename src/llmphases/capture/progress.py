"""One line on stderr that says how far a job is."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import TextIO

from llmphases.capture.current import is_disabled, wired
from llmphases.observers import never_raises

_WORTH_SAYING_NS = 2 * 10**9
_BETWEEN_NS = 200_000_000
_BETWEEN_LINES_NS = 10 * 10**9
_LOOK_EVERY_S = 0.25
_NARROWEST = 20
_USUAL_WIDTH = 80


class Progress:
    """Counts pieces of work, and says so; `wanted=None`: on a terminal, for jobs over 2 s.

    It speaks in a thread of its own: no worker ever waits for a terminal, and a job whose pieces
    take a minute each is seen to be alive.
    """

    def __init__(self, name: str, *, wanted: bool | None) -> None:
        self._name = "".join(c if c.isprintable() else " " for c in name)
        self._wanted = wanted
        self._stream = _stream(wanted=wanted)
        self._on_terminal = _is_terminal(self._stream)
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._began_ns: int | None = None
        self._said_ns: int | None = None
        self._shown = ""
        self._total = 0
        self._done = 0
        self._process = os.getpid()

    @never_raises
    def more(self, pieces: int) -> None:
        """More pieces have been handed over."""
        if self._stream is None or self._is_the_parents():
            return
        with self._lock:
            self._total += pieces
            if self._began_ns is not None:
                return
            self._began_ns = wired().now()
        with suppress(RuntimeError):  # the interpreter is on its way out
            threading.Thread(target=self._watch, name="llmphases-progress", daemon=True).start()

    @never_raises
    def one_done(self, _future: object = None) -> None:
        """One piece is done, or failed."""
        if self._stream is not None and not self._is_the_parents():
            with self._lock:
                self._done += 1

    @never_raises
    def look(self) -> None:
        """Say how far it is, if it is time to."""
        with self._lock:
            if self._stream is None or self._began_ns is None or self._over.is_set():
                return
            now_ns = wired().now()
            if self._is_time(now_ns, now_ns - self._began_ns):
                self._said_ns = now_ns
                self._show((now_ns - self._began_ns) // 10**9)

    @never_raises
    def finish(self) -> None:
        """Take the line away again."""
        if self._is_the_parents():
            return
        self._over.set()
        with self._lock:
            if self._shown and self._on_terminal:
                self._write("\r" + " " * len(self._shown) + "\r")
            self._shown = ""

    def _is_the_parents(self) -> bool:
        """Whether this is a forked child: the line is not its own, and the lock may be held."""
        return self._process != os.getpid()

    def _watch(self) -> None:
        while not self._over.wait(_LOOK_EVERY_S):
            self.look()

    def _is_time(self, now_ns: int, since_begin_ns: int) -> bool:
        if not self._wanted and since_begin_ns < _WORTH_SAYING_NS:
            return False
        between_ns = _BETWEEN_NS if self._on_terminal else _BETWEEN_LINES_NS
        return self._said_ns is None or now_ns - self._said_ns >= between_ns

    def _show(self, seconds: int) -> None:
        line = f"{self._name}: {self._done}/{self._total}, {seconds} s"
        if not self._on_terminal:
            self._write(line + "\n")
            return
        line = line[: max(_NARROWEST, _width(self._stream) - 1)]
        self._write("\r" + line.ljust(len(self._shown)))
        self._shown = line

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # closed, or its terminal has gone: say no more
            self._stream = None


def _stream(*, wanted: bool | None) -> TextIO | None:
    """Where to say it; None: nowhere."""
    stream = sys.stderr
    if wanted is False or is_disabled() or getattr(stream, "closed", False):
        return None
    return stream if wanted or _is_terminal(stream) else None


def _is_terminal(stream: TextIO | None) -> bool:
    """A program may have put anything with a `write` there, or nothing at all."""
    asked = getattr(stream, "isatty", None)
    return asked is not None and bool(asked())


def _width(stream: TextIO | None) -> int:
    if stream is not None:
        with suppress(OSError, ValueError):  # no real terminal
            return os.get_terminal_size(stream.fileno()).columns or _USUAL_WIDTH
    return _USUAL_WIDTH
