"""To which phase every instant of a call belongs: one exact sweep, made once, at the end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

from llmphases.phases import Origin, Phase
from llmphases.recorder.streams import StreamTrack

_MEASURED = Origin.MEASURED  # found through its class, a member costs 0.3 us in Python 3.11


class Piece:
    """One interval of one phase, in monotonic nanoseconds."""

    __slots__ = (
        "drawn", "end_ns", "origin", "phase", "request", "sequence", "start_ns", "track",
    )  # fmt: skip

    def __init__(
        self,
        phase: Phase,
        start_ns: int,
        end_ns: int,
        sequence: int,
        track: StreamTrack | None = None,
        *,
        request: int | None = None,
        origin: Origin = _MEASURED,
        drawn: tuple[int, int] | None = None,
    ) -> None:
        self.phase = phase
        self.start_ns = start_ns
        self.end_ns = end_ns
        self.sequence = sequence
        """Breaks the tie between phases that opened at the same instant: the later one wins."""
        self.track = track
        """The stream whose stalls take time from it."""
        self.request = request
        self.origin = origin
        self.drawn = drawn


@dataclass(slots=True)
class Inner:
    """What a traced call inside this one leaves behind."""

    start_ns: int
    end_ns: int
    pieces: Sequence[Piece] = ()
    tracks: Sequence[StreamTrack] = ()


@dataclass(slots=True)
class Sums:
    """Nanoseconds; `exclusive` and `unattributed_ns` add up to the window exactly."""

    exclusive: dict[Phase, int]
    outside_inner: dict[Phase, int]
    unattributed_ns: int = 0


in_order = attrgetter("start_ns", "sequence")
"""Pieces in the order in which they opened."""


def sweep(
    start_ns: int,
    end_ns: int,
    pieces: Sequence[Piece],
    inner: Sequence[Inner],
    tracks: Sequence[StreamTrack],
) -> Sums:
    """Give every instant of the window to the phase that was opened last among those open.

    `pieces` come in the order in which they opened, those of `inner` in any.

    A stall of a stream's consumer takes time only from that stream's own phases, or from time
    that no phase covers.
    """
    every = pieces
    if inner:
        every = sorted([*pieces, *(p for one in inner for p in one.pieces)], key=in_order)
    exclusive = {p.phase: 0 for p in every if p.start_ns <= end_ns and p.end_ns >= start_ns}
    if not inner and not tracks:
        return _plain_sums(exclusive, start_ns, end_ns, every)
    owners = _owners(start_ns, end_ns, every)
    tracks = [*tracks, *(track for one in inner for track in one.tracks)]
    for track in tracks:
        track.settle()
    outside = {p.phase: 0 for p in pieces if p.start_ns <= end_ns and p.end_ns >= start_ns}
    books = _Books(Sums(exclusive, outside), _merged(inner), tracks)
    for owner, a, b in owners:
        books.book(owner, a, b)
    return books.sums


def _plain_sums(
    exclusive: dict[Phase, int], start_ns: int, end_ns: int, pieces: Sequence[Piece]
) -> Sums:
    """The sums of most calls: no stream could have been held, and no call is inside."""
    if _are_apart(start_ns, end_ns, pieces):
        unattributed_ns = end_ns - start_ns
        for piece in pieces:
            length_ns = piece.end_ns - piece.start_ns
            exclusive[piece.phase] += length_ns
            unattributed_ns -= length_ns
        return Sums(exclusive, exclusive.copy(), unattributed_ns)
    unattributed_ns = 0
    for owner, a, b in _owners(start_ns, end_ns, pieces):
        if owner is None:
            unattributed_ns += b - a
        else:
            exclusive[owner.phase] += b - a
    return Sums(exclusive, exclusive.copy(), unattributed_ns)


def _are_apart(start_ns: int, end_ns: int, pieces: Sequence[Piece]) -> bool:
    """Whether they lie in the window one after the other, so that each owns all of itself."""
    reach_ns = start_ns
    for piece in pieces:
        if piece.start_ns < reach_ns:
            return False
        reach_ns = piece.end_ns
    return reach_ns <= end_ns


def _owners(
    start_ns: int, end_ns: int, pieces: Sequence[Piece]
) -> Iterator[tuple[Piece | None, int, int]]:
    """The window cut into intervals in order, each with the piece that owns it, or None.

    The pieces come in the order they opened, so the last one on the stack is the one opened last.
    """
    at_ns = start_ns
    stack: list[Piece] = []
    for number in range(len(pieces) + 1):
        coming = pieces[number] if number < len(pieces) else None
        until_ns = end_ns if coming is None else min(coming.start_ns, end_ns)
        while at_ns < until_ns:
            while stack and stack[-1].end_ns <= at_ns:
                stack.pop()
            owner = stack[-1] if stack else None
            stop_ns = until_ns if owner is None else min(owner.end_ns, until_ns)
            yield owner, at_ns, stop_ns
            at_ns = stop_ns
        if coming is not None:
            stack.append(coming)


class _Books:
    """Where the intervals are entered, in order of time."""

    __slots__ = ("_covers", "_running", "_tracks", "sums")

    def __init__(
        self, sums: Sums, covers: Sequence[tuple[int, int]], tracks: Sequence[StreamTrack]
    ) -> None:
        self.sums = sums
        self._covers = list(reversed(covers))
        self._tracks = sorted(tracks, key=_opened, reverse=True)
        self._running: list[StreamTrack] = []

    def book(self, owner: Piece | None, a: int, b: int) -> None:
        """Enter an interval, cut where inner calls begin and end."""
        covers = self._covers
        while a < b:
            while covers and covers[-1][1] <= a:
                covers.pop()
            low, high = covers[-1] if covers else (b, b)
            if low > a:
                stop = min(b, low)
                self._enter(owner, a, stop, covered=False)
            else:
                stop = min(b, high)
                self._enter(owner, a, stop, covered=True)
            a = stop

    def _enter(self, owner: Piece | None, a: int, b: int, *, covered: bool) -> None:
        left = b - a
        if owner is None:
            stalled = self._stalled(a, b) if self._tracks or self._running else 0
        else:
            stalled = 0 if owner.track is None else owner.track.between(a, b)
        if stalled > 0:
            stalled = min(stalled, left)
            left -= stalled
            self._add(Phase.TRANSMISSION, stalled, covered=covered)
        if owner is None:
            self.sums.unattributed_ns += left
        else:
            self._add(owner.phase, left, covered=covered)

    def _add(self, phase: Phase, ns: int, *, covered: bool) -> None:
        sums = self.sums
        sums.exclusive[phase] = sums.exclusive.get(phase, 0) + ns
        if not covered:
            sums.outside_inner[phase] = sums.outside_inner.get(phase, 0) + ns

    def _stalled(self, a: int, b: int) -> int:
        """How long of an interval that no phase covers some consumer held a stream.

        While the consumer of a function holds what it yielded, a stream that the function reads is
        held as well: of those only the innermost counts. Of streams side by side the longest stall
        of each part counts, and not their sum.
        """
        while self._tracks and _opened(self._tracks[-1])[0] < b:
            self._running.append(self._tracks.pop())
        self._running = [track for track in self._running if track.points[-1][0] > a]
        if len(self._running) <= 1:
            return sum(track.between(a, b) for track in self._running)
        cuts = {a, b}
        cuts.update(ns for track in self._running for ns, _ in track.points if a < ns < b)
        return sum(self._longest(low, high) for low, high in pairwise(sorted(cuts)))

    def _longest(self, a: int, b: int) -> int:
        alive = [t for t in self._running if t.points[0][0] <= a and b <= t.points[-1][0]]
        if not alive:
            return 0
        newest = max(track.number for track in alive)
        return max(t.between(a, b) for t in alive if not t.own or t.number == newest)


def _opened(track: StreamTrack) -> tuple[int, int]:
    return track.points[0][0], track.number


def _merged(inner: Sequence[Inner]) -> list[tuple[int, int]]:
    """The windows of inner calls as a few that do not overlap."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted((i.start_ns, i.end_ns) for i in inner):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged
