"""Moves the bytes of one child through its pipes until it is gone, and stamps them on arrival."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable
from typing import Protocol

from llmphases.capture.children.exit_watch import ExitWatch
from llmphases.clock import SystemClock

READ_SIZE = 64 * 2**10
SURVIVORS_GRACE_NS = 200_000_000
"""How long descendants that hold a pipe open may keep us after the child's exit."""
_LAST_DRAUGHT = 2**20
"""Bytes taken from a pipe at the end: more than any holds, so that nothing of the child is lost."""
_NS_PER_MS = 1_000_000


class Listener(Protocol):
    """Who hears what the pump sees, in the pump's thread."""

    def output(self, stream: int, data: bytes, at_ns: int) -> None:
        """These bytes arrived."""
        ...

    def closed(self, stream: int) -> None:
        """No more will come of a stream."""
        ...

    def has_room(self, stream: int) -> bool:
        """Whether more of a stream can be taken now."""
        ...

    def going(self) -> None:
        """The child is about to be ended by us."""
        ...


class Pump:
    """Runs in one thread; `stop` and `wake` may be called from any other."""

    def __init__(
        self, watch: ExitWatch, listener: Listener, now: Callable[[], int], *,
        outputs: dict[int, int], stdin: int | None = None, given: bytes = b"",
        timeout_ns: int | None = None, grace_ns: int = 2_000_000_000,
    ) -> None:  # fmt: skip
        """`outputs` are the descriptors by stream; all descriptors are ours to close."""
        self._watch = watch
        self._listener = listener
        self._now = now
        self._outputs = outputs
        self._stdin = stdin
        self._given = memoryview(given)
        self._grace_ns = grace_ns
        self._ends_ns = None if timeout_ns is None else SystemClock.now() + timeout_ns
        self._kills_ns: int | None = None
        self._leaves_ns: int | None = None
        self._wish: str | None = None
        self._paused: set[int] = set()
        self._unwanted: set[int] = set()
        self._poller = select.poll()
        self._closing = threading.Lock()
        self._wakes, self._waker = os.pipe()
        self.exit_ns: int | None = None
        """When the child exited; None before."""
        self.why: str | None = None
        """Why it was ended by us: `timeout`, or as `stop` was told; None if it was not."""
        self._begin()

    def _begin(self) -> None:
        for fd in (self._wakes, self._waker, *self._outputs.values()):
            os.set_blocking(fd, False)
        for fd in (self._watch.fileno(), self._wakes, *self._outputs.values()):
            self._poller.register(fd, select.POLLIN)
        if self._stdin is not None:
            os.set_blocking(self._stdin, False)
            self._poller.register(self._stdin, select.POLLOUT)

    # --- from other threads ----------------------------------------------------------------

    def stop(self, why: str) -> None:
        """End the child: ask it to, and after a grace make it."""
        self._wish = self._wish or why
        self.wake()

    def wake(self) -> None:
        """Look again at what there is room for. Harmless after the end."""
        with self._closing, contextlib.suppress(BlockingIOError):  # full: it will wake up anyway
            if self._waker >= 0:
                os.write(self._waker, b"\0")

    def shut(self, stream: int) -> None:
        """Read a stream no more: the child finds that its reader has gone."""
        self._unwanted.add(stream)
        self.wake()

    # --- in its own thread -----------------------------------------------------------------

    def run(self) -> None:
        """Until the child is gone and its output has been read; raises nothing of its own."""
        while not self._is_done():
            found = self._poller.poll(self._patience_ms())
            self._handle({fd for fd, _ in found}, self._now())
            self._mind_the_time(SystemClock.now())

    def close(self) -> None:
        """Let go of every pipe."""
        for stream in list(self._outputs):
            self._close_output(stream)
        self._close_stdin()
        with self._closing:
            waker, self._waker = self._waker, -1
        if waker >= 0:
            os.close(self._wakes)
            os.close(waker)

    def _is_done(self) -> bool:
        return self.exit_ns is not None and not self._outputs

    def _handle(self, ready: set[int], at_ns: int) -> None:
        if self._wakes in ready:
            os.read(self._wakes, READ_SIZE)
            for stream in tuple(self._unwanted):
                self._close_output(stream)
        if self._stdin in ready:
            self._feed()
        for stream, fd in list(self._outputs.items()):
            if fd in ready:
                self._take(stream, fd, at_ns)
        if self.exit_ns is None and self._watch.fileno() in ready:
            self.exit_ns = self._watch.seen_ns(at_ns)
            self._poller.unregister(self._watch.fileno())
            self._close_stdin()
        self._mind_the_room()

    def _take(self, stream: int, fd: int, at_ns: int) -> int:
        try:
            data = os.read(fd, READ_SIZE)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        if data:
            self._listener.output(stream, data, at_ns)
        else:
            self._close_output(stream)
        return len(data)

    def _feed(self) -> None:
        assert self._stdin is not None
        try:
            written = os.write(self._stdin, self._given[:READ_SIZE])
        except BlockingIOError:
            return
        except OSError:  # it does not want to read
            self._close_stdin()
            return
        self._given = self._given[written:]
        if not self._given:
            self._close_stdin()

    def _mind_the_room(self) -> None:
        """Take no more than somebody has room for, unless nobody will want it."""
        for stream, fd in self._outputs.items():
            pause = self.why is None and not self._listener.has_room(stream)
            if pause == (stream in self._paused):
                continue
            if pause:
                self._paused.add(stream)
                self._poller.unregister(fd)
            else:
                self._paused.discard(stream)
                self._poller.register(fd, select.POLLIN)
                self._leaves_ns = None

    def _mind_the_time(self, now_ns: int) -> None:
        if self.exit_ns is not None:
            self._leave(now_ns)
            return
        if self._wish is None and self._ends_ns is not None and now_ns >= self._ends_ns:
            self._wish = "timeout"
        if self._wish is not None and self.why is None:
            self.why = self._wish
            self._listener.going()
            self._mind_the_room()
            self._watch.send(signal.SIGTERM)
            self._kills_ns = now_ns + self._grace_ns
        elif self._kills_ns is not None and now_ns >= self._kills_ns:
            self._watch.send(signal.SIGKILL)
            self._kills_ns = None

    def _leave(self, now_ns: int) -> None:
        """The child is gone: whoever still holds its pipes does not hold us."""
        if self._wish is not None and self._paused:
            self.why = self._wish
            self._mind_the_room()
        if self._paused:
            return
        if self._leaves_ns is None:
            self._leaves_ns = now_ns + SURVIVORS_GRACE_NS
        elif now_ns >= self._leaves_ns:
            for stream, fd in list(self._outputs.items()):
                self._drain(stream, fd)

    def _drain(self, stream: int, fd: int) -> None:
        left = _LAST_DRAUGHT
        while left > 0 and stream in self._outputs:
            taken = self._take(stream, fd, self._now())
            if not taken:
                break
            left -= taken
        self._close_output(stream)

    def _patience_ms(self) -> int | None:
        due = [self._leaves_ns] if self.exit_ns is not None else [self._kills_ns]
        if self.exit_ns is None and self._wish is None:
            due.append(self._ends_ns)
        known = [at_ns for at_ns in due if at_ns is not None]
        if not known:
            return None
        return max(0, -(-(min(known) - SystemClock.now()) // _NS_PER_MS))

    def _close_output(self, stream: int) -> None:
        fd = self._outputs.pop(stream, None)
        if fd is None:
            return
        if stream in self._paused:
            self._paused.discard(stream)
        else:
            self._poller.unregister(fd)
        os.close(fd)
        self._listener.closed(stream)

    def _close_stdin(self) -> None:
        fd, self._stdin = self._stdin, None
        if fd is not None:
            self._poller.unregister(fd)
            os.close(fd)
