"""A command whose output goes on to our own stdout and stderr as it comes."""

from __future__ import annotations

import errno
import os
import select
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue

from llmphases.calls import Call
from llmphases.capture.children.command import Command
from llmphases.capture.children.ends import Ends
from llmphases.capture.children.formats import STDERR, STDOUT
from llmphases.capture.children.run import CommandRun, Connect

MOST_WAITING = 2**20
"""Bytes that wait for whoever reads our output, before the child has to."""
_SETTLED_S = 0.05
"""How long a child that was stopped may have been silent before its output counts as read."""
_HELD = -1


class Relay:
    """Output on its way from the thread that pumps to the one that writes.

    No lock: each count has one writer.
    """

    def __init__(self) -> None:
        self._queue: SimpleQueue[tuple[int, bytes] | None] = SimpleQueue()
        self._put = 0
        self._taken = 0
        self._is_waited_for = False

    # --- for the pump ----------------------------------------------------------------------

    def output(self, stream: int, data: bytes) -> None:
        """Hand it on."""
        self._put += len(data)
        self._queue.put((stream, data))

    def has_room(self, stream: int) -> bool:
        """Whether the writer is not too far behind."""
        if self._has_room():
            return True
        self._is_waited_for = True
        return self._has_room()  # what was taken before that was said wakes nobody

    def _has_room(self) -> bool:
        return self._put - self._taken < MOST_WAITING

    def so_far(self) -> tuple[bytes, bytes]:
        """Nothing: it has been handed on."""
        return b"", b""

    def over(self) -> None:
        """There is no more."""
        self._queue.put(None)

    # --- for the writer --------------------------------------------------------------------

    def hold(self) -> None:
        """Have the writer told, by a piece of the stream -1, when it has come this far."""
        self._queue.put((_HELD, b""))

    def take(self, timeout_s: float | None = None) -> tuple[int, bytes] | None:
        """The next piece; None at the end. Raises `queue.Empty` after a time-out."""
        return self._queue.get(timeout=timeout_s)

    def taken(self, data: bytes) -> bool:
        """A piece is written; whether the pump may have waited for that."""
        self._taken += len(data)
        if not self._is_waited_for or not self._has_room():
            return False
        self._is_waited_for = False
        return True


class LiveRun:
    """`start`, then `pass_on` in the same thread until all is over.

    The child is read in a thread of its own: whoever reads our output slowly takes nothing from
    the times at which the child wrote it.
    """

    def __init__(self, command: Command, connect: Connect) -> None:
        self._relay = Relay()
        self._connect = connect
        self._ends: Ends | None = None
        self.run = CommandRun(command, self._relay, self._connected)
        self._thread = threading.Thread(target=self._read, name="llmphases-command", daemon=True)
        self._then: Callable[[], object] = lambda: None
        self._terminals = {stream for stream in (STDOUT, STDERR) if os.isatty(stream)}
        self._closed: set[int] = set()
        self.complaints: list[str] = []
        """What of ours could not be written to, other than because its reader has gone."""
        self.ends_line = True
        """Whether the last thing that was written to a terminal ends its line."""

    def _connected(self, command: Command) -> Ends:
        self._ends = self._connect(command)
        return self._ends

    def start(self) -> None:
        """Spawn it; raises what `subprocess.Popen` raises."""
        try:
            self.run.start()
        except BaseException as error:
            self._release()
            self.run.end(error)
            raise
        self._thread.start()

    def _read(self) -> None:
        try:
            self.run.complete()
        finally:
            self.run.end()
            self._relay.over()

    def hold(self, then: Callable[[], object]) -> None:
        """Have `then` called by `pass_on` when all that came so far is written; in any thread."""
        self._then = then
        self._relay.hold()

    def pass_on(self) -> Call | None:
        """Write what comes until the child is gone; gives what happened, if it is traced."""
        while (piece := self._relay.take()) is not None:
            if piece[0] == _HELD:
                self._settle()
                self._then()
            else:
                self._write(*piece)
        self._thread.join()
        self._release()
        return self.run.call

    def _mirror(self) -> None:
        if self._ends is not None:
            self._ends.mirror()

    def _release(self) -> None:
        if self._ends is not None:
            self._ends.release()

    def _settle(self) -> None:
        """Write what is on its way still."""
        while True:
            try:
                piece = self._relay.take(_SETTLED_S)
            except Empty:
                self._mirror()
                return
            if piece is None:
                self._relay.over()
                return
            self._write(*piece)

    def _write(self, stream: int, data: bytes) -> None:
        self._mirror()  # before what is drawn in that mode
        if stream not in self._closed:
            try:
                write_all(stream, data)
            except OSError as error:
                self._lose(stream, error)
            else:
                if stream in self._terminals:
                    self.ends_line = data.endswith(b"\n")
        if self._relay.taken(data):
            self.run.wake()

    def _lose(self, stream: int, error: OSError) -> None:
        """Nobody takes this any more: the child learns that when it writes."""
        self._closed.add(stream)
        self.run.shut(stream)
        if error.errno not in {errno.EPIPE, errno.EIO}:
            name = "stdout" if stream == STDOUT else "stderr"
            self.complaints.append(f"cannot write to {name}: {error.strerror or error}")


def write_all(fd: int, data: bytes) -> None:
    """Write to a descriptor that others share, and may have made non-blocking."""
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(fd, rest) :]
        except BlockingIOError:
            poller = select.poll()
            poller.register(fd, select.POLLOUT)
            poller.poll()
