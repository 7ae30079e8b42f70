"""Where the output of a command goes: kept whole, or handed on piece by piece."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from llmphases.capture.children.formats import STDOUT

MOST_WAITING = 16 * 2**20
"""Bytes of stdout that wait for their reader, before the child has to."""
TAIL = 64 * 2**10
"""Bytes of stderr that a stream keeps, from its end."""


class Kept:
    """All output, in memory."""

    def __init__(self) -> None:
        self._pieces: dict[int, list[bytes]] = {}

    def output(self, stream: int, data: bytes) -> None:
        """Keep it."""
        self._pieces.setdefault(stream, []).append(data)

    def has_room(self, stream: int) -> bool:
        """Always."""
        return True

    def so_far(self) -> tuple[bytes, bytes]:
        """Both streams."""
        joined = {stream: b"".join(pieces) for stream, pieces in self._pieces.items()}
        self._pieces = {stream: [whole] for stream, whole in joined.items()}
        stdout = joined.pop(STDOUT, b"")
        return stdout, b"".join(joined.values())


class Handed:
    """Stdout on its way to a reader in another thread, and the end of stderr."""

    def __init__(self, news: Callable[[], object] = lambda: None) -> None:
        """`news` is called in the pump's thread when there is something, or nothing more."""
        self._news = news
        self._changed = threading.Condition()
        self._pieces: deque[bytes] = deque()
        self._waiting = 0
        self._tail = bytearray()
        self._is_over = False
        self._error: BaseException | None = None
        self.is_wanted = True
        """Whether anybody will read the rest."""

    # --- for the pump ----------------------------------------------------------------------

    def output(self, stream: int, data: bytes) -> None:
        """Hand it on, or keep the end of it."""
        with self._changed:
            if stream != STDOUT:
                self._tail += data
                del self._tail[:-TAIL]
                return
            if not self.is_wanted:
                return
            self._pieces.append(data)
            self._waiting += len(data)
            self._changed.notify()
        self._news()

    def has_room(self, stream: int) -> bool:
        """Whether the reader is not too far behind; of stderr only the end is kept."""
        return stream != STDOUT or self._waiting < MOST_WAITING

    def so_far(self) -> tuple[bytes, bytes]:
        """What nobody has read of stdout yet, and the end of stderr."""
        with self._changed:
            return b"".join(self._pieces), bytes(self._tail)

    def over(self, error: BaseException | None) -> None:
        """There is no more; `error` is what the reader is to be told at the end."""
        with self._changed:
            self._is_over, self._error = True, error
            self._changed.notify()
        self._news()

    # --- for the reader --------------------------------------------------------------------

    def take(self, *, wait: bool) -> tuple[bytes | None, bool]:
        """The next piece, and whether the pump may have waited for that.

        None: there is none, now (`wait=False`) or any more (`is_over`).
        """
        with self._changed:
            while wait and not self._pieces and not self._is_over:
                self._changed.wait()
            if not self._pieces:
                return None, False
            was_full = self._waiting >= MOST_WAITING
            piece = self._pieces.popleft()
            self._waiting -= len(piece)
            return piece, was_full

    @property
    def is_over(self) -> bool:
        """Whether there is no more."""
        with self._changed:
            return self._is_over and not self._pieces

    def raise_error(self) -> None:
        """Raise, once, what the run came to."""
        error, self._error = self._error, None
        if error is not None:
            raise error

    def drop(self) -> None:
        """Nobody wants the rest."""
        with self._changed:
            self.is_wanted = False
            self._pieces.clear()
            self._waiting = 0


class Dropped:
    """Output that nobody wants, but for the end of stderr."""

    def __init__(self) -> None:
        self._tail = bytearray()

    def output(self, stream: int, data: bytes) -> None:
        """Keep the end, drop the rest."""
        if stream != STDOUT:
            self._tail += data
            del self._tail[:-TAIL]

    def has_room(self, stream: int) -> bool:
        """Always."""
        return True

    def so_far(self) -> tuple[bytes, bytes]:
        """The end of stderr."""
        return b"", bytes(self._tail)
