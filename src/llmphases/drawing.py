"""Where on the wall clock a span is drawn: whole microseconds, and siblings that never touch.

Jaeger's critical path takes the child that ends strictly before the next one starts, in whole
microseconds: a phase that ends where the next begins is lost. So every boundary is floored, and a
phase is drawn one microsecond short.
"""

from __future__ import annotations

_REMEMBERED = 16


class Lane:
    """The children of one span, in the order they are drawn."""

    __slots__ = ("_last_us", "_pushed", "_reach_us", "_start_us")

    def __init__(self, start_us: int) -> None:
        self._start_us = start_us
        self._last_us = self._reach_us = start_us - 1
        self._pushed: list[tuple[int, int]] = []

    @property
    def last_us(self) -> int:
        """Where the last child ends, or an open one can at the earliest: not before its parent."""
        return max(self._last_us, self._reach_us)

    def begin(self, wall_ns: int) -> int:
        """The start of a child that opens now, after every child that has ended."""
        begin = wall_ns // 1000
        if begin <= self._last_us:
            begin = self._last_us + 1
        if begin >= self._reach_us:
            self._reach_us = begin + 1
        return begin

    def reach(self, end_us: int) -> None:
        """Something inside that is still open ends there at the earliest."""
        if end_us > self._reach_us:
            self._reach_us = end_us

    def begin_in_the_past(self, wall_ns: int) -> int:
        """The start of a child that began earlier, while others may have come and gone."""
        begin = max(wall_ns // 1000, self._start_us)
        for true_end_us, drawn_end_us in self._pushed:
            if true_end_us <= begin <= drawn_end_us:
                begin = drawn_end_us + 1
        return begin

    def finish(self, begin_us: int, wall_ns: int, inner_us: int = 0) -> int:
        """The end of a live child: at least a microsecond long, not before its own children."""
        floored = wall_ns // 1000
        end = floored - 1
        if end <= begin_us:
            end = begin_us + 1
        if end < inner_us:
            end = inner_us
        if end >= floored:
            self._pushed = [*self._pushed[1 - _REMEMBERED :], (floored, end)]
        if end > self._last_us:
            self._last_us = end
        return end

    def fit(self, start_wall_ns: int, end_wall_ns: int) -> tuple[int, int] | None:
        """Start and end of a child known only afterwards; None if no microsecond is free."""
        begin = self.begin_in_the_past(start_wall_ns)
        end = end_wall_ns // 1000 - 1
        if end <= begin:
            return None
        if end > self._last_us:
            self._last_us = end
        return begin, end
