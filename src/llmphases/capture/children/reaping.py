"""Sees children being reaped by the program, with what they have used.

`os.waitpid` becomes `os.wait4`, which does the same and tells the use as well; so does the copy of
it that `subprocess` keeps for itself. Children that nobody tracks are waited for as ever.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from resource import struct_rusage


class Tracked(Protocol):
    """Who wants to know."""

    def signalled(self, number: int) -> None:
        """It is about to be sent a signal."""
        ...

    def seen_running(self) -> None:
        """It has not exited yet."""
        ...

    def reaped(self, status: int, rusage: struct_rusage, *, waited: bool) -> None:
        """It is gone. `waited`: it ran when the wait began."""
        ...


class Reaping:
    """What stands in for `os.waitpid` while it is installed."""

    def __init__(self) -> None:
        self._tracked: dict[int, Tracked] = {}
        self._undo: list[Callable[[], None]] = []
        self._waitpid = os.waitpid
        self._stand_in = self._make()

    def track(self, pid: int, tracked: Tracked) -> None:
        """Tell of this child, once."""
        self._tracked[pid] = tracked

    def tracked(self, pid: int | None) -> Tracked | None:
        """Who wants to know of this child; None if nobody does, or it is gone."""
        return None if pid is None else self._tracked.get(pid)

    def forget(self, pid: int, tracked: Tracked) -> None:
        """Tell of it no more."""
        if self._tracked.get(pid) is tracked:
            self._tracked.pop(pid, None)  # it may be reaped in another thread just now

    def forget_all(self) -> None:
        """The children are those of another process."""
        self._tracked.clear()

    def install(self) -> None:
        """Stand in for `os.waitpid`."""
        self._waitpid = os.waitpid
        os.waitpid = self._stand_in
        self._undo = [_in_subprocess(self._stand_in)]

    def uninstall(self) -> None:
        """As it was; what somebody else has put in our place since stays there."""
        if os.waitpid is self._stand_in:
            os.waitpid = self._waitpid
        while self._undo:
            self._undo.pop()()

    def _make(self) -> Callable[[int, int], tuple[int, int]]:
        tracked = self._tracked

        def waitpid(pid: int, options: int, /) -> tuple[int, int]:
            if not tracked or (pid > 0 and pid not in tracked):
                return self._waitpid(pid, options)
            waited = not options & os.WNOHANG and is_running(pid)
            found, status, rusage = os.wait4(pid, options)
            self._tell(pid, found, status, rusage, waited=waited)
            return found, status

        waitpid.__doc__ = os.waitpid.__doc__
        return waitpid

    def _tell(
        self, asked: int, found: int, status: int, rusage: struct_rusage, *, waited: bool
    ) -> None:
        one = self._tracked.get(found or asked)
        if one is None:
            return
        if not found:
            one.seen_running()
        elif not os.WIFSTOPPED(status) and not os.WIFCONTINUED(status):
            self._tracked.pop(found, None)  # its call may end in another thread just now
            one.reaped(status, rusage, waited=waited)


def is_running(pid: int) -> bool:
    """Whether a wait for it will have to wait."""
    if pid <= 0:
        return False
    with contextlib.suppress(OSError):
        return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None
    return False


def _in_subprocess(stand_in: Callable[[int, int], tuple[int, int]]) -> Callable[[], None]:
    """Put it where `Popen.poll` looks for `os.waitpid`; gives what undoes that."""
    kept: Any = getattr(subprocess, "_del_safe", None)
    if kept is not None:  # Python 3.13 and later
        former = kept.waitpid
        kept.waitpid = staticmethod(stand_in)

        def undo() -> None:
            kept.waitpid = former

        return undo
    return _as_default(subprocess.Popen._internal_poll, stand_in)  # type: ignore[attr-defined]  # noqa: SLF001  # where it is


def _as_default(poll: Any, stand_in: Any) -> Callable[[], None]:
    former = poll.__defaults__

    def undo() -> None:
        poll.__defaults__ = former

    poll.__defaults__ = tuple(stand_in if one is os_waitpid else one for one in former)
    return undo


os_waitpid = os.waitpid
"""The true one, as it was before anybody put something in its place."""
