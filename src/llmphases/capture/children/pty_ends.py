"""Terminals for the output of a child, so that it behaves as it would without us."""

from __future__ import annotations

import fcntl
import os
import termios
import tty
from collections.abc import Callable
from contextlib import suppress
from enum import Enum

from llmphases.capture.children.command import Command
from llmphases.capture.children.ends import Ends

_ROWS_COLUMNS_PIXELS = 8
"""Bytes of a `struct winsize`."""


class Stdin(Enum):
    """What a child reads if it is given nothing."""

    OURS = "ours"
    """What we would: keys are pressed for it, not for us."""
    NOTHING = "nothing"


class TerminalEnds(Ends):
    """Each stream of output is a terminal where ours is one, else a pipe.

    The terminals are raw: what the child writes comes out as it is, and ours does to it what it
    does to everything. They control nobody: keys, Control-C and Control-Z reach the child by our
    own terminal, which it shares.
    """

    def __init__(self, *, with_stdin: bool, stdin: Stdin) -> None:
        self._sizes: dict[int, bytes] = {}
        super().__init__(with_stdin=with_stdin)
        if not with_stdin and stdin is Stdin.OURS:
            self.theirs_in = None

    def opened(self, stream: int) -> tuple[int, int]:
        if not os.isatty(stream):
            return super().opened(stream)
        try:
            ours, theirs = os.openpty()
        except OSError:  # there are no more
            return super().opened(stream)
        tty.setraw(theirs)
        self._sizes[stream] = _size(stream)
        with suppress(OSError):
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, self._sizes[stream])
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


def _size(stream: int) -> bytes:
    return fcntl.ioctl(stream, termios.TIOCGWINSZ, bytes(_ROWS_COLUMNS_PIXELS))


def terminals_for(stdin: Stdin, opened: Callable[[TerminalEnds], object]) -> Callable[..., Ends]:
    """How to connect with a command; `opened` gets what was opened."""

    def connect(command: Command) -> Ends:
        ends = TerminalEnds(with_stdin=command.given is not None, stdin=stdin)
        opened(ends)
        return ends

    return connect
