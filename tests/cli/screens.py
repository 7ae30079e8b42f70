"""A terminal, played by a test: what a person would type, and what they would see."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PATIENCE_S = 90
_SHELL = Path(__file__).with_name("job_shell.py")


class Screen:
    """A command in the foreground of a terminal, under a shell with job control."""

    def __init__(self, argv: list[str], size: tuple[int, int], env: dict[str, str]) -> None:
        self.seen = b""
        """All that has come so far."""
        self._from = 0
        self.pid, self._fd = pty.fork()
        if not self.pid:
            with contextlib.suppress(BaseException):
                _resize(0, size)
                shell = [sys.executable, str(_SHELL), *argv]
                os.execve(sys.executable, shell, {**os.environ, **env})
            os._exit(99)

    def expect(self, pattern: str) -> re.Match[bytes]:
        """What comes until the pattern is seen, after what was expected before."""
        until = time.monotonic() + PATIENCE_S
        while True:
            found = re.compile(pattern.encode(), re.DOTALL).search(self.seen, self._from)
            if found:
                self._from = found.end()
                return found
            left = until - time.monotonic()
            assert left > 0, f"no {pattern!r} in {self.seen[self._from :]!r}"
            assert self._more(left), f"no {pattern!r} in {self.seen[self._from :]!r} at its end"

    def _more(self, timeout_s: float) -> bool:
        if not select.select([self._fd], [], [], timeout_s)[0]:
            return True
        try:
            data = os.read(self._fd, 2**16)
        except OSError:  # nobody has the other side open any more
            return False
        self.seen += data
        return bool(data)

    def type(self, keys: str) -> None:
        """Keys are pressed."""
        os.write(self._fd, keys.encode())

    def resize(self, rows: int, columns: int) -> None:
        """The window is made larger or smaller."""
        _resize(self._fd, (rows, columns))

    def mode(self) -> list[Any]:
        """How the terminal treats what is typed and shown, as `termios` says it."""
        return termios.tcgetattr(self._fd)

    def status(self) -> int:
        """The exit status of the command, when it is over."""
        return int(self.expect(r"\[status (\d+)\]")[1])

    def close(self) -> None:
        """Whatever is left goes."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.close(self._fd)
        os.waitpid(self.pid, 0)


def _resize(fd: int, size: tuple[int, int]) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))


@contextlib.contextmanager
def screen(argv: list[str], size: tuple[int, int] = (24, 80), **env: str) -> Iterator[Screen]:
    """A screen on which a command runs."""
    shown = Screen(argv, size, env)
    try:
        yield shown
    finally:
        shown.close()
