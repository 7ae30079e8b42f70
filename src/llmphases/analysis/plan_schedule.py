"""When the last of some calls ends, if each goes in turn to the first worker that is free."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

_MINUTE_NS = 60e9


def finished_ns(
    needed_ns: Sequence[float],
    *,
    workers: int,
    contention: float = 0.0,
    per_minute: int | None = None,
) -> float:
    """The time from the start of the first call to the end of the last, in nanoseconds.

    `needed_ns` is what each takes alone, in the order in which they are started. While k of them
    run, each is ``1 + contention * (k - 1)`` times as slow. In any minute at most `per_minute` are
    started (as many as there are, if None).
    """
    # All that run are equally slow, so one clock of work done tells for all of them how far they
    # are: a call that starts at 5 and needs 3 is over when that clock shows 8.
    running: list[float] = []
    started: list[float] = []
    now = done = 0.0
    for needed in needed_ns:
        earliest = now
        if per_minute is not None and len(started) >= per_minute:
            earliest = max(now, started[-per_minute] + _MINUTE_NS)
        while running:
            slower = 1 + contention * (len(running) - 1)
            next_end = now + (running[0] - done) * slower
            if next_end > earliest and len(running) < workers:
                break
            now, done = next_end, heappop(running)
        if earliest > now:
            if running:
                done += (earliest - now) / (1 + contention * (len(running) - 1))
            now = earliest
        started.append(now)
        heappush(running, done + needed)
    while running:
        now += (running[0] - done) * (1 + contention * (len(running) - 1))
        done = heappop(running)
    return now
