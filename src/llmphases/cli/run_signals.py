"""Signals while children run: each of them is to get what it would get without us.

Keys (Control-C, Control-Z) reach our children by the terminal, and us as well: then it is the child
that decides what becomes of it. What is sent to us alone is passed on.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

from llmphases.capture.children.pty_ends import TerminalEnds
from llmphases.capture.children.run import CommandRun
from llmphases.clock import sleep

_KEYS = (signal.SIGINT, signal.SIGQUIT)
"""A terminal sends these to all of its foreground group."""
_SENT = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
_ENDING = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGHUP)
_TERMINAL = "/dev/tty"
_TOGETHER_S = 0.05
"""How much later than us a child may be continued by whoever continues both."""
_OVER = 0


class Signals:
    """In force as a block, in the main thread. What is ignored at its start stays ignored.

    They are acted upon in a thread of its own: Python runs handlers in the main thread only, and
    not before that has something else to do than wait.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._runs: list[CommandRun] = []
        self._terminals: list[TerminalEnds] = []
        self._before: dict[int, Any] = {}
        self._sent: list[int] = []
        self._stopped: Callable[[int], object] | None = None
        self._is_held = False
        self._reading = self._writing = self._others = -1
        self._thread = threading.Thread(target=self._listen, name="llmphases-signals", daemon=True)
        self.ending: int | None = None
        """The first signal that asked us to end; None if none has."""

    def __enter__(self) -> Self:
        """They are ours now."""
        self._reading, self._writing = os.pipe()
        os.set_blocking(self._writing, False)
        self._others = signal.set_wakeup_fd(self._writing, warn_on_full_buffer=False)
        self._thread.start()
        for number in (*_KEYS, *_SENT, signal.SIGWINCH):
            self._handle(number)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """They are as they were."""
        for number, before in self._before.items():
            signal.signal(number, before)
        signal.set_wakeup_fd(self._others)
        os.set_blocking(self._writing, True)
        os.write(self._writing, bytes([_OVER]))
        self._thread.join()
        os.close(self._writing)
        os.close(self._reading)

    def _handle(self, number: int) -> None:
        before = signal.getsignal(number)
        if before is not signal.SIG_IGN:
            self._before[number] = signal.signal(number, _do_nothing)

    # --- who is to get them ----------------------------------------------------------------

    def started(self, run: CommandRun) -> None:
        """A child runs now; from whatever thread."""
        with self._lock:
            self._runs.append(run)
            for number in self._sent:  # it came while that was being spawned
                run.send(number)

    def ended(self, run: CommandRun) -> None:
        """It is gone."""
        with self._lock:
            self._runs.remove(run)

    def opened(self, ends: TerminalEnds) -> None:
        """A child gets these terminals; they are to be as large as ours."""
        with self._lock:
            self._terminals.append(ends)

    # --- what they do ----------------------------------------------------------------------

    def _listen(self) -> None:
        while True:
            for number in os.read(self._reading, 1):
                if number == _OVER:
                    return
                with self._lock:
                    self._act(number)

    def _act(self, number: int) -> None:
        if number == signal.SIGWINCH:
            self._resize()
        elif number == signal.SIGCHLD:
            self._look_for_stops(os.WSTOPPED)
        elif number in {*_KEYS, *_SENT}:
            self._pass_on(number)

    def _pass_on(self, number: int) -> None:
        if number in _ENDING and self.ending is None:
            self.ending = number
        if number in _KEYS and _are_in_front():
            return
        self._sent.append(number)
        for run in self._runs:
            run.send(number)

    def _resize(self) -> None:
        resized = [ends.resize() for ends in self._terminals]
        if any(resized):
            # The terminal has told our group before the child's own terminals were resized. Once
            # more, to all of it: who asks for the size may be a grandchild.
            os.killpg(os.getpgrp(), signal.SIGWINCH)

    # --- stopping with a child -------------------------------------------------------------

    def follow(self, stopped: Callable[[int], object]) -> None:
        """From now on a stop is the child's to decide: `stopped` hears by which signal it did.

        Without this we would stop before the child has put its terminal in order, and be stopped
        although it did not want to.
        """
        if not hasattr(os, "waitid"):  # nothing would tell us: all stop at once, as they do anyway
            return
        self._stopped = stopped
        self._handle(signal.SIGTSTP)
        self._handle(signal.SIGCHLD)

    def _look_for_stops(self, events: int) -> bool:
        """Whether anything has happened to a child; that it stopped is told."""
        found = [news for run in self._runs if (news := _news_of(run, events)) is not None]
        for news in found:
            if news.si_code == os.CLD_STOPPED and self._stopped is not None:
                self._is_held = True
                self._stopped(news.si_status)
        return bool(found)

    def stop(self, number: int) -> None:
        """Stop as a child has, until somebody continues us; then it goes on as well."""
        with self._lock:
            self._is_held = False
            if self._look_for_stops(os.WCONTINUED):
                return  # it goes on already
        if number == signal.SIGSTOP:
            signal.raise_signal(number)
        else:
            before = signal.signal(number, signal.SIG_DFL)
            signal.raise_signal(number)
            signal.signal(number, before)
        with self._lock:
            self._resize()
        self._continue()

    def _continue(self) -> None:
        """Continue a child, unless it has been together with us; and may be stopped again."""
        for patience_s in (_TOGETHER_S, 0.0):
            with self._lock:
                if self._is_held or self._look_for_stops(os.WCONTINUED | os.WSTOPPED):
                    return
                if not patience_s:
                    for run in self._runs:
                        run.send(signal.SIGCONT)
            sleep(patience_s)


def _news_of(run: CommandRun, events: int) -> Any:
    """What has happened to a child since it was last asked, as `os.waitid` says it; or None."""
    with suppress(ChildProcessError):
        if run.pid is not None:
            return os.waitid(os.P_PID, run.pid, events | os.WNOHANG)
    return None


def _do_nothing(number: int, frame: FrameType | None) -> None:
    """A handler and not `SIG_IGN`, which a child would inherit."""


def _are_in_front() -> bool:
    """Whether keys pressed in our terminal go to us, and so to our children, too."""
    try:
        terminal = os.open(_TERMINAL, os.O_RDONLY | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)
