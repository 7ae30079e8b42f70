"""When the bytes of a pipe arrived, as far as whoever reads them can tell."""

from __future__ import annotations

TOLERANCE_NS = 5_000_000
"""How far apart the bounds of an arrival may lie for it to count as known."""


class Arrivals:
    """Of one pipe. A reader that waited was woken by the arrival; else there are only bounds."""

    __slots__ = ("_empty_ns",)

    def __init__(self, spawned_ns: int) -> None:
        self._empty_ns = spawned_ns

    def seen_empty(self, at_ns: int) -> None:
        """There was nothing to read at that time."""
        if at_ns > self._empty_ns:
            self._empty_ns = at_ns

    def read(self, at_ns: int, *, waited: bool) -> int | None:
        """What was read just now arrived at this time; None if that is not known well enough."""
        if waited:
            self.seen_empty(at_ns)  # up to now there was nothing: of use to the next read
        return at_ns if at_ns - self._empty_ns <= TOLERANCE_NS else None
