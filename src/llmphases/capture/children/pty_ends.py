"""Terminals for the output of a child, so that it behaves as it would without us."""

from __future__ import annotations

import fcntl
import os
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import Any

from llmphases.capture.children.command import Command
from llmphases.capture.children.ends import Ends
from llmphases.capture.children.formats import STDERR
from llmphases.capture.children.pty_keys import Keys

_ROWS_COLUMNS_PIXELS = 8
"""Bytes of a `struct winsize`."""


class Stdin(Enum):
    """What a child reads if it is given nothing."""

    OURS = "ours"
    """What we would: keys are pressed for it, not for us."""
    NOTHING = "nothing"


class TerminalEnds(Ends):
    """Each stream of output is a terminal where ours is one, else a pipe.

    What the child writes to it comes out as it is, and ours does to it what it does to everything.
    It controls nobody: keys, Control-C and Control-Z reach the child by our own terminal, which it
    shares. Keys that it reads at its stderr all the same are brought there.
    """

    hands_down = True  # as a shell does: `<(...)`, `3<file` and a job server are meant for it

    def __init__(self, *, with_stdin: bool, stdin: Stdin) -> None:
        self._sizes: dict[int, bytes] = {}
        self._modes: dict[int, _Modes] = {}
        self._lock = threading.Lock()
        self._keys: Keys | None = None
        self._has_keys = not with_stdin and stdin is Stdin.OURS
        super().__init__(with_stdin=with_stdin)
        if self._has_keys:
            self.theirs_in = None

    def opened(self, stream: int) -> tuple[int, int]:
        if not os.isatty(stream):
            return super().opened(stream)
        try:
            ours, theirs = os.openpty()
        except OSError:  # there are no more
            return super().opened(stream)
        before = termios.tcgetattr(stream)
        first = _without_output_processing(before)
        termios.tcsetattr(theirs, termios.TCSANOW, first)
        self._sizes[stream] = _size(stream)
        with suppress(OSError):
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, self._sizes[stream])
        if self._has_keys:
            modes = _Modes(os.dup(ours), before, termios.tcgetattr(theirs))
            self._modes[stream] = modes
            if stream == STDERR:
                self._keys = Keys(stream, modes.fd, os.ttyname(theirs), self._follow_modes)
        return ours, theirs

    def resize(self) -> bool:
        """Make the child's terminals as large as ours are now; whether any was not."""
        changed = False
        for stream, before in self._sizes.items():
            fd = self.ours.get(stream)
            with suppress(OSError):  # ours has gone, or the child's
                now = _size(stream)
                if now != before and fd is not None:
                    fcntl.ioctl(fd, termios.TIOCSWINSZ, now)
                    self._sizes[stream] = now
                    changed = True
        return changed

    def mirror(self) -> None:
        """Put our terminal into the mode that the child has put its own into.

        Most programs do that with stdin, which is ours; but some (pagers, curses) with stdout or
        stderr, and then wait for single keys.
        """
        self._follow_modes()
        if self._keys is not None:
            self._keys.follow()

    def _follow_modes(self) -> None:
        with self._lock:
            for stream, modes in self._modes.items():
                with suppress(OSError, termios.error):
                    modes.follow(stream)

    def release(self) -> None:
        """The child is gone: its last mode is that of our terminal, and counts no more."""
        if self._keys is not None:
            self._keys.stop()
        self._follow_modes()
        with self._lock:
            for modes in self._modes.values():
                os.close(modes.fd)
            self._modes.clear()


class _Modes:
    """The modes of our terminal and of the child's, as `termios.tcgetattr` gives them."""

    def __init__(self, fd: int, before: list[Any], first: list[Any]) -> None:
        self.fd = fd
        """A descriptor of the child's terminal that stays open until its last mode is known."""
        self._before = before
        """Of ours, when the child began."""
        self._first = first
        """Of the child's, then."""
        self._now = first
        self._given: list[Any] | None = None
        """What ours got from us, until that is taken back."""

    def follow(self, stream: int) -> None:
        """Give our terminal the mode of the child's, if that has changed.

        When it is as it was at first, so becomes ours, but not while it has a mode that somebody
        else gave it: whoever came after a pager, and has gone on already.
        """
        now = termios.tcgetattr(self.fd)
        if now != self._now:
            self._now = now
            if now != self._first:
                termios.tcsetattr(stream, termios.TCSANOW, now)
                self._given = termios.tcgetattr(stream)
        is_owed = now == self._first and self._given is not None
        if is_owed and termios.tcgetattr(stream) == self._given:
            termios.tcsetattr(stream, termios.TCSANOW, self._before)
            self._given = None


def _without_output_processing(mode: list[Any]) -> list[Any]:
    flags, output, *others = mode
    return [flags, output & ~termios.OPOST, *others]


def _size(stream: int) -> bytes:
    return fcntl.ioctl(stream, termios.TIOCGWINSZ, bytes(_ROWS_COLUMNS_PIXELS))


def terminals_for(stdin: Stdin, opened: Callable[[TerminalEnds], object]) -> Callable[..., Ends]:
    """How to connect with a command; `opened` gets what was opened."""

    def connect(command: Command) -> Ends:
        ends = TerminalEnds(with_stdin=command.given is not None, stdin=stdin)
        opened(ends)
        return ends

    return connect
