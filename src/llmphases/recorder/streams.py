"""How long a stream's consumer held it, known at a few instants and never per chunk.

Whoever drives a stream keeps its sums in local variables, which costs nothing per chunk. The
recorder reads them when something happens that divides time: another phase opens or closes, a
first token arrives. Between two such instants only the sum of the stalls matters.
"""

from __future__ import annotations

import heapq
from bisect import bisect_right
from collections.abc import Callable, Hashable
from itertools import count
from typing import NamedTuple

ANSWER, REASONING, FIRST_CHUNK, NEW_REQUEST = 1, 2, 4, 8
"""Bits of `StreamTrack.awaiting`; the first two are also what a chunk may be."""

KEPT_STALLS = 32
WORTH_SEEING_NS = 10_000_000

_number = count(1)


class Reading(NamedTuple):
    """What the driver of a stream knows right now."""

    stall_ns: int
    """All finished stalls together."""
    held_since_ns: int | None
    """Since when the consumer has held a chunk (or the stream before its first `next`)."""
    last_token_ns: int | None
    stall_at_last_ns: int
    """`stall_ns` when the last token arrived."""
    chunks: int


class StreamTrack:
    """One stream: what its driver asks (`awaiting`), tells, and lets the recorder read."""

    __slots__ = (
        "awaiting", "chunks", "first_chunk_ns", "key", "last_token_ns", "limit_ns", "longest",
        "number", "own", "points", "read", "stall_at_last_ns", "stall_ns",
    )  # fmt: skip

    def __init__(self, opened_ns: int, *, own: bool, key: Hashable = None) -> None:
        self.own = own
        """Whether it is the output of the traced function itself."""
        self.key = key
        self.number = next(_number)
        """Larger than that of any stream opened before."""
        self.awaiting = ANSWER | REASONING | FIRST_CHUNK | NEW_REQUEST
        self.read: Callable[[], Reading] | None = None
        """Gives the driver's sums while it runs; None before and after."""
        self.stall_ns = 0
        self.last_token_ns: int | None = None
        self.stall_at_last_ns = 0
        self.chunks = 0
        self.first_chunk_ns: int | None = None
        self.limit_ns = WORTH_SEEING_NS
        self.longest: list[tuple[int, int]] = []
        self.points: list[tuple[int, int]] = [(opened_ns, 0)]

    def keep_stall(self, since_ns: int, length_ns: int) -> None:
        """Remember a long stall; only the longest stay, so memory does not grow."""
        if len(self.longest) < KEPT_STALLS:
            heapq.heappush(self.longest, (length_ns, since_ns))
        else:
            heapq.heappushpop(self.longest, (length_ns, since_ns))
            self.limit_ns = self.longest[0][0] + 1

    def refresh(self, at_ns: int) -> None:
        """Read the driver, and note how much had been stalled at `at_ns`."""
        if self.read is None:
            return
        reading = self.read()
        self.chunks = reading.chunks
        self.stall_ns = reading.stall_ns
        self._note_last(reading.last_token_ns, reading.stall_at_last_ns)
        held = reading.held_since_ns
        open_stall = max(0, at_ns - held) if held is not None else 0
        self.points.append((at_ns, reading.stall_ns + open_stall))

    def close(self, at_ns: int, reading: Reading) -> None:
        """The stream is over, and these are its sums."""
        self.read = None
        self.chunks = reading.chunks
        self.stall_ns = reading.stall_ns
        self._note_last(reading.last_token_ns, reading.stall_at_last_ns)
        self.points.append((at_ns, reading.stall_ns))

    def freeze(self) -> None:
        """The call is over: whatever the stream still does is none of its business."""
        self.read = None
        self.awaiting = 0

    def _note_last(self, last_ns: int | None, stall_ns: int) -> None:
        if last_ns is not None and last_ns != self.last_token_ns:
            self.last_token_ns = last_ns
            self.stall_at_last_ns = stall_ns
            self.points.append((last_ns, stall_ns))

    def settle(self) -> None:
        """Put the noted instants in order, once, before `between` is asked."""
        points: list[tuple[int, int]] = []
        high = 0
        for at_ns, stalled in sorted(self.points):
            high = max(high, stalled)
            if points and points[-1][0] == at_ns:
                points[-1] = (at_ns, high)
            else:
                points.append((at_ns, high))
        self.points = points

    def between(self, start_ns: int, end_ns: int) -> int:
        """The nanoseconds of `start_ns..end_ns` during which the consumer held the stream.

        Exact at the noted instants; in between (two streams of one call that both stall) in
        proportion.
        """
        return self._stalled_at(end_ns) - self._stalled_at(start_ns)

    def _stalled_at(self, at_ns: int) -> int:
        points = self.points
        after = bisect_right(points, (at_ns, 1 << 62))
        if after == 0:
            return 0
        before_ns, stalled = points[after - 1]
        if after == len(points) or before_ns == at_ns:
            return stalled
        next_ns, next_stalled = points[after]
        return stalled + (next_stalled - stalled) * (at_ns - before_ns) // (next_ns - before_ns)


def long_stalls(tracks: list[StreamTrack]) -> list[tuple[int, int, StreamTrack]]:
    """The longest stalls in order: since when, how long, of which stream.

    While the consumer of the function holds it, the stream that the function reads is held as
    well: that is shown once.
    """
    own: list[tuple[int, int, StreamTrack]] = []
    read: list[tuple[int, int, StreamTrack]] = []
    for track in tracks:
        into = own if track.own else read
        into += [(since, length, track) for length, since in track.longest]
    kept = read + [
        (since, length, track)
        for since, length, track in own
        if not any(a <= since and since + length <= a + long for a, long, _ in read)
    ]
    kept.sort(key=lambda stall: stall[1], reverse=True)
    return sorted(kept[:KEPT_STALLS], key=lambda stall: stall[0])
