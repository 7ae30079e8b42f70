"""The exit of a child, as something that can be polled beside its pipes."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from resource import struct_rusage


class ExitWatch:
    """Readable from the moment the child has exited until it is closed."""

    def __init__(self, pid: int, now: Callable[[], int]) -> None:
        self._pid = pid
        self._now = now
        self._seen_ns: int | None = None
        self._closing = threading.Lock()
        self._pidfd: int | None = None
        with contextlib.suppress(AttributeError, OSError):  # no Linux, an old one, no descriptors
            self._pidfd = os.pidfd_open(pid)
        self._fd = self._pidfd if self._pidfd is not None else self._wait_in_thread()

    def _wait_in_thread(self) -> int:
        readable, writable = os.pipe()
        args = (writable,)
        threading.Thread(target=self._wait, args=args, name="llmphases-exit", daemon=True).start()
        return readable

    def _wait(self, writable: int) -> None:
        with contextlib.suppress(OSError):  # somebody else has reaped it: it is gone
            os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOWAIT)
        self._seen_ns = self._now()
        os.close(writable)

    def fileno(self) -> int:
        """What to poll for reading."""
        return self._fd

    def seen_ns(self, woken_ns: int) -> int:
        """When it exited, asked after a poll that woke up at `woken_ns`."""
        return woken_ns if self._seen_ns is None else self._seen_ns

    def send(self, number: int) -> None:
        """Send the child a signal, if it is still there and ours to end."""
        with self._closing, contextlib.suppress(ProcessLookupError, PermissionError):
            if self._fd < 0:
                return
            if self._pidfd is not None:
                signal.pidfd_send_signal(self._pidfd, number)
            else:
                os.kill(self._pid, number)

    def reap(self) -> tuple[int, struct_rusage | None]:
        """The exit code (negative for a signal) and what was used; only after the exit.

        A child that somebody else has reaped has code 0 and no use, as `subprocess` has it.
        """
        try:
            _, status, usage = os.wait4(self._pid, 0)
        except ChildProcessError:
            return 0, None
        return os.waitstatus_to_exitcode(status), usage

    def close(self) -> None:
        """Watch no more, and send nothing: the pid may be another's by now."""
        with self._closing:
            fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)
