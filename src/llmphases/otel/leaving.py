"""Notices that a process ends, in whichever of the ways that Python lets one notice."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable
from typing import Protocol

from llmphases.otel.sigterm import Sigterm

_AFTER_ALL_OTHERS = -100
"""Priority among multiprocessing's finalizers: a worker's own are to be traced still."""


class Leaver(Protocol):
    """Who wants to be told."""

    def leave(self, *, at_exit: bool) -> None:
        """The process ends. More than one way may tell: only the first counts.

        `at_exit` is False where no other `atexit` hook will run.
        """
        ...

    def flush(self, timeout_s: float) -> object:
        """The process may end without another word: hand over what is finished."""
        ...

    def after_fork(self) -> None:
        """This is a forked child now."""
        ...


class Doors:
    """The ways out of a process: normal exit, a pool worker's end, SIGTERM."""

    def __init__(self, leaver: Leaver, deadline_s: float) -> None:
        self._leaver = leaver
        self.sigterm = Sigterm(
            self._leave_at_once, deadline_s, flush=lambda: leaver.flush(deadline_s)
        )

    def watch(self, *, sigterm: bool) -> None:
        """From now on; SIGTERM only if nobody else handles it."""
        _watched.append(self)
        _watch_forks()
        atexit.register(self._leave_at_exit)
        if sigterm:
            self.sigterm.watch()
        self._watch_worker()

    def forget(self) -> None:
        """Watch no more."""
        if self in _watched:
            _watched.remove(self)
        atexit.unregister(self._leave_at_exit)
        self.sigterm.forget()

    def _leave_at_exit(self) -> None:
        with self.sigterm.held_back():
            self._leaver.leave(at_exit=True)

    def _leave_as_worker(self) -> None:
        with self.sigterm.held_back():
            self._leave_at_once()

    def _leave_at_once(self) -> None:
        if self in _watched:
            self._leaver.leave(at_exit=False)

    def after_fork_in_child(self) -> None:
        """It has a life and an end of its own."""
        self._leaver.after_fork()
        self._watch_worker()

    def _watch_worker(self) -> None:
        """A multiprocessing worker ends by `os._exit`, after finalizers of its own.

        It forgets those registered before it starts to work, but then runs what is to run after
        a fork: so that is where they are registered.
        """
        util = sys.modules.get("multiprocessing.util")
        if util is None:  # then this is no worker, nor will its forks be
            return
        util.register_after_fork(self, Doors._leave_with_worker)
        if sys.modules["multiprocessing.process"].parent_process() is not None:
            self._leave_with_worker()

    def _leave_with_worker(self) -> None:
        util = sys.modules["multiprocessing.util"]
        util.Finalize(None, self._leave_as_worker, exitpriority=_AFTER_ALL_OTHERS)
        self.sigterm.insist()


_watched: list[Doors] = []
_fork_hooks: list[Callable[[], None]] = []


def _watch_forks() -> None:
    """Once per process, since hooks on forks cannot be taken back."""
    if not _fork_hooks and hasattr(os, "register_at_fork"):
        _fork_hooks.append(_after_fork_in_child)
        os.register_at_fork(
            before=_before_fork,
            after_in_parent=_after_fork,
            after_in_child=_after_fork_in_child,
        )


def _before_fork() -> None:
    for doors in _watched:
        doors.sigterm.before_fork()


def _after_fork() -> None:
    for doors in _watched:
        doors.sigterm.after_fork()


def _after_fork_in_child() -> None:
    for doors in _watched:
        doors.after_fork_in_child()
    _after_fork()
