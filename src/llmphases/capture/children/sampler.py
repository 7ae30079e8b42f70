"""The one thread of a process that looks at its children now and then, while it has any."""

from __future__ import annotations

import os
import threading

from llmphases import clock
from llmphases.capture.children.process_table import table_of_this_machine
from llmphases.capture.children.watched import Tables, Watched
from llmphases.observers import never_raises

LEAST_PAUSE_NS = 250_000_000
PAUSE_PER_COST = 125
"""A round may take one percent of a core: its looks, and what waking up for them costs."""


class Sampler:
    """Looks at every watched child until it has ended."""

    def __init__(self, tables: Tables = table_of_this_machine) -> None:
        self._tables = tables
        self.reset()

    def reset(self) -> None:
        """Start anew in a forked process: the children are its parent's, and no thread came along.

        A lock that some thread of the parent held would stay locked for ever.
        """
        self._lock = threading.RLock()
        self._watched: list[Watched] = []
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether there is a thread now."""
        return self._thread is not None

    def watch(self, pid: int, executable: str | None = None) -> Watched:
        """Watch a child from now on: to be asked right after its spawn, before any wait for it.

        `executable` is the name it is to have in `ProcessUse`.
        """
        watched = Watched(pid, executable, self._tables)
        if not watched.is_over:
            self._add(watched)
        return watched

    @never_raises
    def _add(self, watched: Watched) -> None:
        with self._lock:
            self._watched.append(watched)
            if self._thread is None:
                self._start()

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="llmphases-sampler", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter is about to end
            self._watched.clear()
        else:  # and not before: an interrupt would leave one that never runs
            self._thread = thread

    def _run(self) -> None:
        pause_ns = LEAST_PAUSE_NS
        while True:
            clock.sleep(pause_ns / 1e9)
            # Of this thread alone: what it waits for others says nothing about its cost.
            before_ns = clock.thread_cpu_ns()
            self._look()
            cost_ns = clock.thread_cpu_ns() - before_ns
            with self._lock:
                self._watched = [one for one in self._watched if not one.is_over]
                if not self._watched:
                    self._thread = None
                    return
            pause_ns = max(LEAST_PAUSE_NS, PAUSE_PER_COST * cost_ns)

    @never_raises
    def _look(self) -> None:
        table = self._tables()
        for watched in list(self._watched):
            if not watched.is_over:
                watched.look(table)


_sampler = Sampler()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_sampler.reset)


def watch(pid: int, executable: str | None = None) -> Watched:
    """Watch a child of this process, by the one sampler that there is."""
    return _sampler.watch(pid, executable)
