"""A child process that the program started itself: what is seen of it, told to its observation."""

from __future__ import annotations

import contextlib
import fcntl
import os
import termios
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from llmphases.calls import ProcessUse
from llmphases.capture.children.arrivals import Arrivals
from llmphases.capture.children.formats import STDOUT
from llmphases.capture.children.observation import ChildObservation
from llmphases.capture.children.reaping import is_running
from llmphases.capture.children.time_outs import is_handling_time_out, is_meant_to_end
from llmphases.capture.children.watched import Watched
from llmphases.capture.children.watcher import Watch, Watcher
from llmphases.conventions import TIMEOUT_ERROR
from llmphases.observers import never_raises
from llmphases.recorder.collected import is_collecting, later

if TYPE_CHECKING:
    import subprocess
    from resource import struct_rusage

_NO_BYTES = bytes(4)


class HookedChild:
    """From its spawn until it is gone and its pipes are read, or its call ends.

    Pipes may be read, and the child waited for, by several threads.
    """

    def __init__(
        self, observation: ChildObservation, spawned_ns: int, now: Callable[[], int]
    ) -> None:
        self._observation: ChildObservation | None = observation
        self._spawned_ns = spawned_ns
        self.now = now
        self._popen: weakref.ref[subprocess.Popen[Any]] | None = None
        self._watcher: Watcher | None = None
        self._watch: Watch | None = None
        self._watched: Watched | None = None
        self._open: set[int] = set()
        self._pid = 0
        self._running_ns = spawned_ns
        self._is_gone = False
        self._exit_ns: int | None = None
        self._code: int | None = None
        self._rusage: struct_rusage | None = None
        # One that is a program's way out of somebody else's time-out tells nothing of its own.
        self._may_be_late = not is_handling_time_out()
        self._is_late = False
        self.told_code: Callable[[], int | None] = lambda: None
        """Knows the exit code, where somebody else than the program waits for it."""
        self._when_over: list[Callable[[], object]] = []

    @property
    def spawned_ns(self) -> int:
        """When it was spawned."""
        return self._spawned_ns

    def spawned(
        self, popen: subprocess.Popen[Any] | None, watched: Watched, watcher: Watcher, pid: int,
        output_fd: int | None,
    ) -> None:  # fmt: skip
        """It runs."""
        self._popen = weakref.ref(popen) if popen is not None else None
        self._pid = pid
        self._watched = watched
        self._watcher = watcher
        self._watch = watcher.watch(pid, output_fd)

    def stream(self, number: int) -> HookedStream:
        """One of its outputs, that the program reads through a pipe."""
        self._open.add(number)
        return HookedStream(self, number)

    def chunks_of(self, pipe: object) -> list[bytes] | None:
        """Where `Popen.communicate` keeps what it has read of a pipe."""
        popen = self._popen() if self._popen is not None else None
        kept = getattr(popen, "_fileobj2output", None)
        return kept.get(pipe) if kept is not None else None

    def when_over(self, act: Callable[[], object]) -> None:
        """Have `act` called once all of it is known, or nothing more is wanted."""
        self._when_over.append(act)

    # --- output ----------------------------------------------------------------------------

    def first_seen_ns(self, number: int) -> int | None:
        """When the watcher saw the first byte of an output; asked once, when it has been read."""
        watch = self._watch
        if watch is None or number != STDOUT:
            return None
        self._watch_no_output()
        return watch.output_ns

    def output(self, number: int, data: bytes, at_ns: int | None) -> None:
        """These bytes were read, and arrived at that time; None if nobody knows."""
        observation = self._observation
        if observation is not None:
            observation.output(number, data, at_ns)

    def ended(self, number: int) -> None:
        """No more will be read of an output."""
        if number == STDOUT:
            self._watch_no_output()
        self._open.discard(number)
        self._conclude_if_done()

    def _watch_no_output(self) -> None:
        if self._watcher is not None and self._watch is not None:
            self._watcher.forget_output(self._watch)

    # --- exit ------------------------------------------------------------------------------

    @never_raises
    def signalled(self, number: int) -> None:
        """The program is about to send it a signal."""
        if is_meant_to_end(number) and is_running(self._pid):
            self._note_time_out()

    def _note_time_out(self) -> None:
        if self._may_be_late and is_handling_time_out():
            self._is_late = True

    def seen_running(self) -> None:
        """It has not exited yet."""
        self._running_ns = self.now()

    @never_raises
    def reaped(self, status: int, rusage: struct_rusage | None, *, waited: bool) -> None:
        """Somebody has waited for it; `waited`: it still ran when that began."""
        at_ns = self.now()
        self._rusage = rusage
        code = os.waitstatus_to_exitcode(status)
        if code < 0:  # it may have been ended with its whole process group
            self._note_time_out()
        self.gone(code, self._exit_at(at_ns, waited=waited))

    @never_raises
    def exited(self, code: int | None) -> None:
        """Somebody says that it has exited, some time ago."""
        self.gone(code, self._exit_at(self.now(), waited=False))

    def gone(self, code: int | None, at_ns: int | None) -> None:
        """It has exited; at a time that nobody knows, if None."""
        if not self._is_gone:
            self._code, self._exit_ns, self._is_gone = code, at_ns, True
            self._conclude_if_done()

    def _exit_at(self, at_ns: int, *, waited: bool) -> int | None:
        if self._watch is not None:  # it has not seen it so far: then it was just now
            seen_ns = self._watch.exit_ns
            return at_ns if seen_ns is None else min(seen_ns, at_ns)
        arrivals = Arrivals(self._running_ns)
        return arrivals.read(at_ns, waited=waited)

    # --- the end ---------------------------------------------------------------------------

    def _conclude_if_done(self) -> None:
        if self._is_gone and not self._open:
            self.conclude()

    @never_raises
    def conclude(self) -> None:
        """No more will be seen, or nobody wants to know: its call is about to end."""
        if is_collecting():
            later(self.conclude)
            return
        observation, self._observation = self._observation, None
        if observation is None:
            return
        self._watch_no_output()
        if not self._is_gone:
            self._look_at_exit()
        observation.exited(self._exit_ns, self._code)
        observation.used(self._use(), TIMEOUT_ERROR if self._is_late and self._code else None)
        self._end()

    def _use(self) -> ProcessUse:
        wall_ns = None if self._exit_ns is None else self._exit_ns - self._spawned_ns
        if self._watched is None:
            return ProcessUse(exit_code=self._code, wall_ns=wall_ns)
        return self._watched.reaped(self._rusage, exit_code=self._code, wall_ns=wall_ns)

    def _look_at_exit(self) -> None:
        """Nobody has waited for it so far; that is left to the program."""
        if self._watch is not None:
            self._exit_ns = self._watch.exit_ns
        self._code = self.told_code()
        with contextlib.suppress(OSError):  # somebody else has reaped it
            found = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT | os.WNOHANG)
            if found is not None:
                exited = found.si_code == os.CLD_EXITED
                self._code = found.si_status if exited else -found.si_status

    def _end(self) -> None:
        while self._when_over:
            self._when_over.pop()()

    def not_spawned(self) -> None:
        """There is no child."""
        observation, self._observation = self._observation, None
        if observation is not None:
            observation.not_spawned()
        self._end()

    def forget(self) -> None:
        """Tell nobody any more: this is another process."""
        self._observation = None


class HookedStream:
    """One output of a child, as its reader in this process sees it."""

    def __init__(self, child: HookedChild, number: int) -> None:
        self._child = child
        self._number = number
        self._arrivals = Arrivals(child.spawned_ns)
        self._has_begun = False
        self.now = child.now

    @never_raises
    def _is_empty(self, fd: int) -> bool:
        return fcntl.ioctl(fd, termios.FIONREAD, _NO_BYTES) == _NO_BYTES

    def is_empty(self, fd: int) -> bool:
        """Whether there is nothing to read now, so that a read will wait."""
        empty = self._is_empty(fd) is True
        if empty:
            self.seen_empty()
        return empty

    @never_raises
    def seen_empty(self) -> None:
        """There is nothing to read now."""
        self._arrivals.seen_empty(self.now())

    @never_raises
    def read(
        self, data: bytes, *, waited: bool, is_drained: bool, at_ns: int | None = None
    ) -> None:
        """These bytes were read just now, or became ready at `at_ns`.

        `waited`: there was nothing before; `is_drained`: there is no more.
        """
        if at_ns is None:
            at_ns = self.now()
        if self._has_begun:
            self._child.output(self._number, data, self._arrivals.read(at_ns, waited=waited))
        else:
            self._has_begun = True
            self._first(data, at_ns, waited=waited)
        if is_drained:
            self._arrivals.seen_empty(at_ns)

    def _first(self, data: bytes, at_ns: int, *, waited: bool) -> None:
        seen_ns = self._child.first_seen_ns(self._number)
        if seen_ns is not None and seen_ns < at_ns:
            self._child.output(self._number, data[:1], seen_ns)
            self._arrivals.seen_empty(seen_ns)
            data, waited = data[1:], False  # the rest lay there, who knows since when
        self._child.output(self._number, data, self._arrivals.read(at_ns, waited=waited))

    def chunks_of(self, pipe: object) -> list[bytes] | None:
        """Where `Popen.communicate` keeps what it has read of this pipe."""
        return self._child.chunks_of(pipe)

    @never_raises
    def ended(self) -> None:
        """No more will be read."""
        self._child.ended(self._number)
