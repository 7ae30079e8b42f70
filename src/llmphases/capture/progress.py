"""One line on stderr that says how far a job is."""

from __future__ import annotations

import sys
import threading
from typing import Any

from llmphases.capture.current import wired
from llmphases.observers import never_raises

_WORTH_SAYING_NS = 2_000_000_000
_BETWEEN_NS = 200_000_000


class Progress:
    """Counts pieces of work; writes only to a terminal (or when asked), and not for short jobs."""

    def __init__(self, name: str, *, wanted: bool | None) -> None:
        self._name = name
        self._wanted = wanted
        self._lock = threading.Lock()
        self._began_ns: int | None = None
        self._said_ns = 0
        self._said = ""
        self._total = 0
        self._done = 0

    @never_raises
    def one_more(self) -> None:
        """One more piece has been handed over."""
        with self._lock:
            if self._began_ns is None:
                self._began_ns = wired().now()
            self._total += 1

    @never_raises
    def one_done(self, _future: Any = None) -> None:
        """One piece is done, or failed."""
        with self._lock:
            self._done += 1
            if not self._is_wanted():
                return
            now_ns = wired().now()
            began_ns = self._began_ns if self._began_ns is not None else now_ns
            if now_ns - began_ns < _WORTH_SAYING_NS or now_ns - self._said_ns < _BETWEEN_NS:
                return
            self._said_ns = now_ns
            self._say(f"{self._name}: {self._done}/{self._total}, {(now_ns - began_ns) // 10**9} s")

    @never_raises
    def finish(self) -> None:
        """Take the line away again."""
        with self._lock:
            if self._said:
                self._say("")
                sys.stderr.write("\r")
                sys.stderr.flush()

    def _is_wanted(self) -> bool:
        return self._wanted if self._wanted is not None else sys.stderr.isatty()

    def _say(self, text: str) -> None:
        sys.stderr.write("\r" + text.ljust(len(self._said)))
        sys.stderr.flush()
        self._said = text
