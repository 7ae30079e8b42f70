"""Notices that a process ends, in whichever of the ways that Python lets one notice."""

from __future__ import annotations

import _thread
import atexit
import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Protocol

_AFTER_ALL_OTHERS = -100
"""Priority among multiprocessing's finalizers: a worker's own are to be traced still."""
_GRACE_S = 0.2


class Leaver(Protocol):
    """Who wants to be told."""

    def leave(self, *, at_exit: bool) -> None:
        """The process ends. More than one way may tell: only the first counts.

        `at_exit` is False where no other `atexit` hook will run.
        """
        ...

    def after_fork(self) -> None:
        """This is a forked child now."""
        ...


class Doors:
    """The ways out of a process: normal exit, a pool worker's end, SIGTERM."""

    def __init__(self, leaver: Leaver, deadline_s: float) -> None:
        self._leaver = leaver
        self._deadline_s = deadline_s
        self.watches_sigterm = False

    def watch(self, *, sigterm: bool) -> None:
        """From now on; SIGTERM only if nobody else handles it."""
        _watched.append(self)
        _watch_forks()
        atexit.register(self._at_exit)
        self._watch_worker()
        if sigterm and _sigterm_is_free():
            signal.signal(signal.SIGTERM, self._on_sigterm)
            self.watches_sigterm = True

    def forget(self) -> None:
        """Watch no more."""
        if self in _watched:
            _watched.remove(self)
        atexit.unregister(self._at_exit)
        if self.watches_sigterm and signal.getsignal(signal.SIGTERM) == self._on_sigterm:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.watches_sigterm = False

    def _at_exit(self) -> None:
        self._leaver.leave(at_exit=True)

    def _at_worker_exit(self) -> None:
        if self in _watched:
            self._leaver.leave(at_exit=False)

    def after_fork(self) -> None:
        """In the child: it has a life and an end of its own."""
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
        util.register_after_fork(self, Doors._finalize_with_worker)
        if sys.modules["multiprocessing.process"].parent_process() is not None:
            self._finalize_with_worker()

    def _finalize_with_worker(self) -> None:
        util = sys.modules["multiprocessing.util"]
        util.Finalize(None, self._at_worker_exit, exitpriority=_AFTER_ALL_OTHERS)

    def _on_sigterm(self, number: int, frame: FrameType | None) -> None:
        """Leave in another thread: this one may hold the locks that leaving needs.

        The thread is started without `threading`, whose own locks it may hold as well.
        """
        done = _thread.allocate_lock()
        done.acquire()

        def leave() -> None:
            try:
                self._leaver.leave(at_exit=False)
            finally:
                done.release()

        with suppress(RuntimeError):  # no threads any more: it is leaving already
            _thread.start_new_thread(leave, ())
            done.acquire(timeout=self._deadline_s + _GRACE_S)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTERM)


def _sigterm_is_free() -> bool:
    """Whether SIGTERM would end this process, and may be handled here.

    The first process of a container ignores it without a handler, and would go on afterwards.
    """
    return (
        threading.current_thread() is threading.main_thread()
        and os.getpid() != 1
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )


_watched: list[Doors] = []
_fork_hooks: list[Callable[[], None]] = []


def _watch_forks() -> None:
    """Once per process, since hooks on forks cannot be taken back."""
    if not _fork_hooks and hasattr(os, "register_at_fork"):
        _fork_hooks.append(_after_fork_in_child)
        os.register_at_fork(after_in_child=_after_fork_in_child)


def _after_fork_in_child() -> None:
    for doors in _watched:
        doors.after_fork()
