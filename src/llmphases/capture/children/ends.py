"""What connects us with a child: one end of each pipe is ours, the other the child's."""

from __future__ import annotations

import os
import subprocess

from llmphases.capture.children.formats import STDERR, STDOUT


class Ends:
    """Both ends of the pipes of a child. Ours are closed by whoever gets them."""

    hands_down = False
    """Whether the child gets what else of ours is open and inheritable."""

    def __init__(self, *, with_stdin: bool) -> None:
        """`with_stdin`: it is given something to read, else nothing at all."""
        self.ours: dict[int, int] = {}
        self.theirs: dict[int, int] = {}
        self.ours_in: int | None = None
        self.theirs_in: int | None = subprocess.DEVNULL
        """None: the child shares ours."""
        try:
            for stream in (STDOUT, STDERR):
                self.ours[stream], self.theirs[stream] = self.opened(stream)
            if with_stdin:
                self.theirs_in, self.ours_in = os.pipe()
        except OSError:
            self.close_ours()
            self.close_theirs()
            raise

    def opened(self, stream: int) -> tuple[int, int]:
        """What one stream of output goes through: our end, and the child's."""
        return os.pipe()

    def mirror(self) -> None:
        """Do to what is ours as the child has done to its own; pipes have nothing of the kind."""

    def release(self) -> None:
        """The child is gone."""

    def close_ours(self) -> None:
        """Nobody will read."""
        for fd in self.ours.values():
            os.close(fd)
        self.ours.clear()
        if self.ours_in is not None:
            os.close(self.ours_in)
            self.ours_in = None

    def close_theirs(self) -> None:
        """The child has its own copies, or there is none."""
        for fd in self.theirs.values():
            os.close(fd)
        self.theirs.clear()
        if self.theirs_in is not None and self.theirs_in >= 0:
            os.close(self.theirs_in)
        self.theirs_in = subprocess.DEVNULL
