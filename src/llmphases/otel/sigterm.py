"""SIGTERM: leave first, then die of it as if nobody had handled it.

The handler is Python's: it runs between two steps of the main thread. Sleeping and waiting are
interrupted for it, one long call into C is not, and a process in such a call ends when it returns.
What could see the signal at once is not ours to take: the wake-up descriptor is for event loops,
of which some warn when they find it taken, and a mask for `sigwait` is inherited by every child.
"""

from __future__ import annotations

import _thread
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from llmphases.otel.waiting import Running

_FIRST_PROCESS = 1
"""That of a container, which the system shields: SIGTERM without a handler does not end it."""
_GRACE_S = 0.2
_KICK_EVERY_S = 0.05


class Sigterm:
    """Handles SIGTERM where nobody else does.

    `leave` is given at most `deadline_s`; then the signal is sent once more, unhandled. The first
    process of a container, which would go on unhandled, only hands over what it has by `flush`,
    and goes on: what comes a little later, uncaught, is SIGKILL.
    """

    def __init__(
        self,
        leave: Callable[[], None],
        deadline_s: float,
        *,
        flush: Callable[[], object] = lambda: None,
    ) -> None:
        self.is_watched = False
        self._leave = leave
        self._flush = flush
        self._deadline_s = deadline_s
        self._is_dying = threading.Event()
        self._is_leaving = False
        self._mask = threading.local()

    def watch(self) -> bool:
        """Install the handler if it is needed and allowed; whether it was."""
        if _is_free():
            signal.signal(signal.SIGTERM, self._handle)
            self.is_watched = True
        return self.is_watched

    def forget(self) -> None:
        """Take the handler away, unless it is another's by now."""
        if self.is_watched and signal.getsignal(signal.SIGTERM) == self._handle:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        self.is_watched = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        """Leave in another thread: this one may hold the locks that leaving needs.

        That is started without `threading`, whose own locks this one may hold as well.
        """
        if os.getpid() == _FIRST_PROCESS:
            Running(self._flush)
            return
        if self._is_dying.is_set():
            return
        self._is_dying.set()
        if self._is_leaving:  # what it has interrupted is just that: wait for it, not it for us
            return
        done = _thread.allocate_lock()
        done.acquire()

        def leave() -> None:
            try:
                self._leave()
            finally:
                done.release()

        with suppress(RuntimeError):  # no threads any more: it is leaving already
            _thread.start_new_thread(leave, ())
            done.acquire(timeout=self._deadline_s + _GRACE_S)
        _die()

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """While the main thread leaves anyway: a signal does not interrupt it, but counts then."""
        self._is_leaving = True
        try:
            yield
        finally:
            self._is_leaving = False
        if self._is_dying.is_set():
            _die()

    # --- forks ------------------------------------------------------------------------------
    def before_fork(self) -> None:
        """Hold the signal back: Python forgets those that reach a child in its first moment.

        Without a handler such a child would die; with one, a pool that terminates a worker which
        has just been born would wait for its end for ever.
        """
        if self.is_watched:
            self._mask.before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})

    def after_fork(self) -> None:
        """Let it through again, in parent and child."""
        mask = getattr(self._mask, "before", None)
        if mask is not None:
            self._mask.before = None
            signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    def insist(self) -> None:
        """In a pool's worker: see to it that the handler runs even if the main thread sleeps.

        A signal that arrives after the interpreter last looked and before the main thread waits
        for its next task is handled only after that; but a pool that terminates its workers gives
        them no task any more. So another thread wakes the main one until the handler runs.
        """
        is_main = threading.current_thread() is threading.main_thread()
        if not (self.is_watched and is_main) or signal.getsignal(signal.SIGTERM) != self._handle:
            return
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        others = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        if others != -1:
            signal.set_wakeup_fd(others)
            os.close(reading)
            os.close(writing)
            return
        arguments = (reading, threading.main_thread().ident)
        threading.Thread(
            target=self._wake, args=arguments, name="llmphases-sigterm", daemon=True
        ).start()

    def _wake(self, reading: int, main_thread: int) -> None:
        while signal.SIGTERM not in os.read(reading, 64):
            pass
        while not self._is_dying.wait(_KICK_EVERY_S):
            signal.pthread_kill(main_thread, signal.SIGTERM)


def _die() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGTERM)


def _is_free() -> bool:
    """Whether nobody handles SIGTERM, and it may be handled here."""
    return (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    )
