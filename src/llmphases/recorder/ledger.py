"""To which phase every instant of a call belongs: one exact sweep, made once, at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import pairwise

from llmphases.phases import Origin, Phase
from llmphases.recorder.streams import StreamTrack


class Piece:
    """One interval of one phase, in monotonic nanoseconds."""

    __slots__ = (
        "drawn", "end_ns", "origin", "phase", "request", "sequence", "start_ns", "track",
    )  # fmt: skip

    def __init__(
        self, phase: Phase, start_ns: int, end_ns: int, sequence: int, track: StreamTrack | None
    ) -> None:
        self.phase = phase
        self.start_ns = start_ns
        self.end_ns = end_ns
        self.sequence = sequence
        """Breaks the tie between phases that opened at the same instant: the later one wins."""
        self.track = track
        """The stream whose stalls take time from it."""
        self.request: int | None = None
        self.origin = Origin.MEASURED
        self.drawn: tuple[int, int] | None = None


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

    exclusive: dict[Phase, int] = field(default_factory=dict)
    outside_inner: dict[Phase, int] = field(default_factory=dict)
    unattributed_ns: int = 0

    def _book(self, phase: Phase, ns: int, *, covered: bool) -> None:
        self.exclusive[phase] = self.exclusive.get(phase, 0) + ns
        if not covered:
            self.outside_inner[phase] = self.outside_inner.get(phase, 0) + ns


def sweep(start_ns: int, end_ns: int, pieces: Sequence[Piece], inner: Sequence[Inner],
          tracks: Sequence[StreamTrack]) -> Sums:  # fmt: skip
    """Give every instant of the window to the phase that was opened last among those open.

    A stall of a stream's consumer takes time only from that stream's own phases, or from time
    that no phase covers.
    """
    sums = Sums()
    own = len(pieces)
    every = [*pieces, *(p for i in inner for p in i.pieces)]
    for number, piece in enumerate(every):
        if piece.start_ns <= end_ns and piece.end_ns >= start_ns:
            sums.exclusive.setdefault(piece.phase, 0)
            if number < own:
                sums.outside_inner.setdefault(piece.phase, 0)
    every_track = [*tracks, *(t for i in inner for t in i.tracks)]
    for track in every_track:
        track.settle()
    waiting = sorted(every, key=_rank)
    covers = _merged(inner)
    open_pieces: list[tuple[int, int, Piece]] = []
    taken = 0
    for a, b in pairwise(_bounds(start_ns, end_ns, every, covers)):
        while taken < len(waiting) and waiting[taken].start_ns <= a:
            piece = waiting[taken]
            heappush(open_pieces, (-piece.start_ns, -piece.sequence, piece))
            taken += 1
        while open_pieces and open_pieces[0][2].end_ns <= a:
            heappop(open_pieces)
        covered = any(low <= a and b <= high for low, high in covers) if covers else False
        owner = open_pieces[0][2] if open_pieces else None
        _book_interval(sums, a, b, owner, every_track, covered=covered)
    return sums


def _book_interval(sums: Sums, a: int, b: int, owner: Piece | None, tracks: Iterable[StreamTrack],
                   *, covered: bool) -> None:  # fmt: skip
    if owner is not None:
        tracks = () if owner.track is None else (owner.track,)
    left = b - a
    for track in tracks:
        stalled = min(track.between(a, b), left)
        if stalled > 0:
            sums._book(Phase.TRANSMISSION, stalled, covered=covered)  # noqa: SLF001  # same job
            left -= stalled
    if owner is None:
        sums.unattributed_ns += left
    else:
        sums._book(owner.phase, left, covered=covered)  # noqa: SLF001  # same job


def _rank(piece: Piece) -> tuple[int, int]:
    return piece.start_ns, piece.sequence


def _bounds(
    start_ns: int, end_ns: int, pieces: Iterable[Piece], covers: Iterable[tuple[int, int]]
) -> list[int]:
    bounds = {start_ns, end_ns}
    for piece in pieces:
        bounds.add(min(max(piece.start_ns, start_ns), end_ns))
        bounds.add(min(max(piece.end_ns, start_ns), end_ns))
    for low, high in covers:
        bounds.add(min(max(low, start_ns), end_ns))
        bounds.add(min(max(high, start_ns), end_ns))
    return sorted(bounds)


def _merged(inner: Sequence[Inner]) -> list[tuple[int, int]]:
    """The windows of inner calls as a few that do not overlap."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted((i.start_ns, i.end_ns) for i in inner):
        if merged and low <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return merged
