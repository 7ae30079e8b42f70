"""Keys for a child that asks for them at the terminal behind its stderr, as pagers do.

`less` opens `ttyname(2)`. That is a terminal of ours, at which nobody types: what is typed at the
real one is brought there, key by key, for as long as somebody reads keys there.
"""

from __future__ import annotations

import fcntl
import os
import select
import termios
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from llmphases.observers import never_raises

_PROCESSES = Path("/proc")
_STDIN = 0
_ESCAPE = b"\x1b"
_LONGEST_KEY = 64
"""Bytes: no key sends more."""
_LOOKS_FOR_A_READER_S = 0.25
_KEYS_MS = 20
"""How long a key is waited for before the mode is looked at again."""
_STEP_S = 0.00025
_STEPS_TO_LEAVE = 60
"""How long a child may need to leave upon a key that it took: some 20 ms. Meanwhile it is looked at
closely, since whoever comes after it asks our terminal for the mode that it left."""


class Keys:
    """`follow` whenever the mode may have changed; in any thread."""

    def __init__(self, typed_at: int, master: int, name: str, over: Callable[[], object]) -> None:
        """Between our terminal `typed_at` and the one of this name; both stay the caller's.

        `over` is called when single keys are no longer asked for.
        """
        self._typed_at = typed_at
        self._master = master
        self._name = name
        self._over = over
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self) -> None:
        """Look after it from now on, if the child has asked for single keys."""
        with self._lock:
            if self._thread is None and self._is_asked():
                self._thread = threading.Thread(
                    target=self._run, name="llmphases-keys", daemon=True
                )
                self._thread.start()

    def stop(self) -> None:
        """Nobody reads there any more."""
        self._stop.set()
        with self._lock:
            thread = self._thread
        if thread is not None:
            thread.join()

    def _is_asked(self) -> bool:
        return not self._stop.is_set() and wants_single_keys(self._master)

    def _goes_on(self) -> bool:
        with self._lock:
            if self._is_asked():
                return True
            self._thread = None
            return False

    @never_raises
    def _run(self) -> None:
        try:
            while self._goes_on():
                if is_read(self._name):
                    self._bring()
                else:
                    self._stop.wait(_LOOKS_FOR_A_READER_S)
        finally:
            self._over()

    def _bring(self) -> None:
        """Until no more are asked for, or nobody is left to read them.

        One at a time, and the next when that is taken: what is typed for whoever comes after the
        child stays where that will look for it.
        """
        flags = os.O_NOCTTY | os.O_CLOEXEC
        typed = os.open(os.ttyname(self._typed_at), os.O_RDONLY | os.O_NONBLOCK | flags)
        try:
            theirs = os.open(self._name, os.O_RDWR | flags)
            try:
                while self._is_asked():
                    if not _has_key(typed):
                        self._stop.wait(_STEP_S)
                    elif not is_read(self._name):
                        return
                    elif self._is_asked():
                        os.write(self._master, _key(typed))
                        self._let_it_be_taken(theirs)
            finally:
                os.close(theirs)
        finally:
            os.close(typed)

    def _let_it_be_taken(self, theirs: int) -> None:
        left = _STEPS_TO_LEAVE
        while left and self._is_asked():
            left = _STEPS_TO_LEAVE if _is_waiting(theirs) else left - 1
            self._stop.wait(_STEP_S)


def wants_single_keys(terminal: int) -> bool:
    """Whether what is typed there is not to wait for the end of its line."""
    try:
        return not termios.tcgetattr(terminal)[3] & termios.ICANON
    except (OSError, termios.error):
        return False


def is_read(name: str) -> bool:
    """Whether somebody in our session reads this terminal, and does not merely write to it.

    Every child has it as its stderr, in both directions: so it counts only as a stdin, or where it
    was opened for reading alone. Where nothing tells, as without `/proc`, nobody does: a key less
    is better than one taken from who reads our own terminal.
    """
    with suppress(OSError):
        session = os.getsid(0)
        for entry in _PROCESSES.iterdir():
            with suppress(OSError, ValueError):
                if os.getsid(int(entry.name)) == session and _reads(entry, name):
                    return True
    return False


def _reads(process: Path, name: str) -> bool:
    for fd in (process / "fd").iterdir():
        with suppress(OSError):  # it has been closed
            if str(fd.readlink()) == name and (
                int(fd.name) == _STDIN or _is_for_reading_alone(process / "fdinfo" / fd.name)
            ):
                return True
    return False


def _is_for_reading_alone(info: Path) -> bool:
    for line in info.read_text("ascii").splitlines():
        word, _, value = line.partition(":")
        if word == "flags":
            return int(value, 8) & os.O_ACCMODE == os.O_RDONLY
    return False


def _is_waiting(terminal: int) -> bool:
    """Whether something that was typed there is not yet read."""
    waiting = fcntl.ioctl(terminal, termios.FIONREAD, bytes(4))
    return any(waiting)


def _has_key(terminal: int) -> bool:
    poller = select.poll()
    poller.register(terminal, select.POLLIN)
    if not any(event & select.POLLIN for _, event in poller.poll(_KEYS_MS)):
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()  # else reading would stop us
    except OSError:
        return True  # it controls nobody


def _key(terminal: int) -> bytes:
    """One byte, or all of what a key sends that begins a sequence; nothing if it is gone."""
    with suppress(BlockingIOError):
        key = os.read(terminal, 1)
        if key == _ESCAPE:
            with suppress(BlockingIOError):
                key += os.read(terminal, _LONGEST_KEY)
        return key
    return b""
