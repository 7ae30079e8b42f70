"""Lines of a stream, with the time at which each began to arrive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

LONGEST_TEXT = 64 * 2**10
LONGEST_JSON = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its line feed."""

    data: bytes
    first_ns: int | None
    """When its first byte arrived; None if nobody knows."""
    last_ns: int | None
    is_cut: bool = False
    """Whether it was longer than anybody reads: this is only how it begins."""


class LineSplitter:
    """Cuts what arrives into lines, and keeps no more than `longest` bytes of any."""

    __slots__ = ("_first_ns", "_held", "_is_begun", "_is_cut", "_length", "_longest")

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._start()

    def _start(self) -> None:
        self._held: list[bytes] = []
        self._length = 0
        self._first_ns: int | None = None
        self._is_begun = self._is_cut = False

    def feed(self, data: bytes, at_ns: int | None) -> Iterator[Line]:
        """The lines that these bytes complete."""
        *complete, rest = data.split(b"\n")
        for line in complete:
            self._hold(line, at_ns)
            yield self._line(at_ns)
        if rest:
            self._hold(rest, at_ns)

    def end(self, at_ns: int | None) -> Iterator[Line]:
        """The last line, if it has no line feed."""
        if self._is_begun:
            yield self._line(at_ns)

    def _hold(self, piece: bytes, at_ns: int | None) -> None:
        if not self._is_begun:
            self._is_begun, self._first_ns = True, at_ns
        room = self._longest - self._length
        if len(piece) > room:
            self._is_cut = True
            piece = piece[:room]
        if piece:
            self._held.append(piece)
            self._length += len(piece)

    def _line(self, at_ns: int | None) -> Line:
        line = Line(b"".join(self._held), self._first_ns, at_ns, self._is_cut)
        self._start()
        return line
