"""Percentiles, mean and total of many durations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """Durations in nanoseconds, summed up; there is at least one."""

    count: int
    p50_ns: float
    p95_ns: float
    mean_ns: float
    total_ns: int


def statistics(durations_ns: Iterable[int]) -> Statistics | None:
    """The statistics of these durations; None if there are none."""
    ordered = sorted(durations_ns)
    if not ordered:
        return None
    total = sum(ordered)
    return Statistics(
        count=len(ordered),
        p50_ns=quantile(ordered, 0.5),
        p95_ns=quantile(ordered, 0.95),
        mean_ns=total / len(ordered),
        total_ns=total,
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """The value that this share of the ordered values (at least one) do not exceed.

    Between two values it is interpolated linearly, as numpy and spreadsheets do.
    """
    position = (len(ordered) - 1) * share
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
