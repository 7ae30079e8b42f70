"""One thread that sees children exit, and the first byte of their output come.

A second reader of arrivals cannot be right about more than the first byte: by the time it looks,
whoever reads the pipe may have taken what woke it up. So each pipe is looked at once, and what was
seen counts only if the pipe's own reader takes that byte later. Needs Linux (epoll, pidfd).
"""

from __future__ import annotations

import contextlib
import os
import select
import threading
from collections.abc import Callable
from typing import Any

from llmphases.observers import never_raises

LEAST_DESCRIPTOR = 128
"""Ours lie above this: a program that moves descriptors about (`dup2`) uses low numbers."""

_ABANDONED: list[Any] = []
"""Kept for ever, for else they would close a descriptor that is no longer theirs."""


class Watch:
    """What is seen of one child. Stamps are monotonic nanoseconds; None: not seen so far."""

    __slots__ = ("exit_fd", "exit_ns", "output_fd", "output_ns")

    def __init__(self, exit_fd: int, output_fd: int | None) -> None:
        self.exit_fd = exit_fd
        self.output_fd = output_fd
        self.output_ns: int | None = None
        """When there was something to read for the first time."""
        self.exit_ns: int | None = None


class Watcher:
    """Has a thread as long as a watched child runs."""

    def __init__(self, now: Callable[[], int]) -> None:
        self._now = now
        self._start_anew()

    def _start_anew(self) -> None:
        self._lock = threading.RLock()
        self._by_fd: dict[int, Watch] = {}
        self._running = 0
        self._epoll: Any = None
        self._thread: threading.Thread | None = None

    @property
    def is_running(self) -> bool:
        """Whether there is a thread now."""
        return self._thread is not None

    @never_raises
    def watch(self, pid: int, output_fd: int | None = None) -> Watch | None:
        """Watch a child, and the pipe of its output; None where that cannot be."""
        exit_fd = _exit_descriptor(pid)
        if exit_fd is None:
            return None
        watch = Watch(exit_fd, output_fd)
        with self._lock:
            if self._register(watch):
                if self._thread is None:
                    self._start()
                return watch
        os.close(exit_fd)
        return None

    def _register(self, watch: Watch) -> bool:
        for _ in range(2):
            self._epoll = self._epoll or _epoll()
            if self._epoll is None:
                return False
            try:
                self._add(watch)
            except OSError:  # the program has closed all descriptors, ours as well
                self._give_up(self._epoll)
            else:
                return True
        return False

    def _add(self, watch: Watch) -> None:
        once = select.EPOLLIN | select.EPOLLONESHOT
        self._epoll.register(watch.exit_fd, once)
        self._running += 1
        self._by_fd[watch.exit_fd] = watch
        if watch.output_fd is not None:
            self._by_fd[watch.output_fd] = watch
            # A number whose former pipe lives on in another process is not watched again.
            with contextlib.suppress(OSError):
                self._epoll.register(watch.output_fd, once)

    def _start(self) -> None:
        thread = threading.Thread(target=self._run, name="llmphases-watcher", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # no more threads, or the interpreter is about to end
            self.reset()
        else:  # and not before: an interrupt would leave one that never runs
            self._thread = thread

    @never_raises
    def forget_output(self, watch: Watch) -> None:
        """Its first byte has been read, or its pipe is about to be closed."""
        with self._lock:
            fd, watch.output_fd = watch.output_fd, None
            if fd is None:
                return
            if self._by_fd.get(fd) is watch:
                del self._by_fd[fd]
            with contextlib.suppress(OSError, ValueError, AttributeError):  # closed by the program
                self._epoll.unregister(fd)

    def _run(self) -> None:
        epoll = self._epoll
        while epoll is self._epoll:
            try:
                events = epoll.poll()
            except OSError:  # likewise
                with self._lock:
                    self._give_up(epoll)
                return
            if self._see(epoll, events, self._now()):
                return

    def _see(self, epoll: Any, events: list[tuple[int, int]], at_ns: int) -> bool:
        """Stamp what has happened; whether there is nothing more to see."""
        with self._lock:
            if epoll is not self._epoll:
                return True
            watches = [(self._by_fd.pop(fd, None), fd, event) for fd, event in events]
            for watch, fd, event in watches:
                if watch is not None and fd == watch.output_fd and event & select.EPOLLIN:
                    watch.output_ns = at_ns
            for watch, fd, _ in watches:
                if watch is not None and fd == watch.exit_fd:
                    watch.exit_ns = at_ns
                    self._end(watch)
            if self._running == 0:
                self._thread = None
            return self._running == 0

    def _end(self, watch: Watch) -> None:
        self._running -= 1
        with contextlib.suppress(OSError):  # closed by the program
            self._epoll.unregister(watch.exit_fd)
            os.close(watch.exit_fd)
        self.forget_output(watch)

    def _give_up(self, epoll: Any) -> None:
        """No more stamps for those there are; the descriptors may be somebody else's by now."""
        if self._epoll is epoll:
            _ABANDONED.append(epoll)
            lock = self._lock
            self._start_anew()
            self._lock = lock

    def reset(self) -> None:
        """Start anew in a forked process: the children are its parent's, and no thread came along.

        Nothing is unregistered: the parent waits with the same epoll.
        """
        for fd, watch in self._by_fd.items():
            if fd == watch.exit_fd:
                with contextlib.suppress(OSError):
                    os.close(fd)
        self._start_anew()


def _exit_descriptor(pid: int) -> int | None:
    """Readable from the child's exit on."""
    try:
        return _moved(os.pidfd_open(pid))
    except (AttributeError, OSError):  # no Linux, an old one, no descriptors left
        return None


def _epoll() -> Any:
    try:
        made = select.epoll()
    except (AttributeError, OSError):  # likewise; or gevent, where a thread that waits stops all
        return None
    try:
        return select.epoll.fromfd(_duplicate(made.fileno()))
    except OSError:
        return None
    finally:
        made.close()


def _moved(fd: int) -> int:
    try:
        return _duplicate(fd)
    finally:
        os.close(fd)


def _duplicate(fd: int) -> int:
    import fcntl  # not on every system

    return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR)
