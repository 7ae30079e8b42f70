"""Fixed cost and cost per unit of calls whose generation nobody saw, from how long they took."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from llmphases.analysis.fit_ranks import rank_of_median, rank_of_slope
from llmphases.analysis.statistics import quantile
from llmphases.calls import Call
from llmphases.phases import Cost

CONFIDENCE = 0.95
"""How often both intervals of a fit hold what they are about, at least."""
FEWEST_CALLS = 7
"""Fewer values do not bound their median often enough for this confidence: 2 / 2**7 is the first
power below half of what may go wrong."""
LEAST_SPREAD = 1.25
"""How many times as many units the larger calls (the 90th percentile) have at least as the smaller
ones (the 10th): a line through calls of nearly one size says nothing of where it begins."""
MOST_CALLS = 400
"""Of more, so many are taken, evenly spread over their sizes: pairs grow with the square."""

_MISS = (1 - CONFIDENCE) / 2
_Point = tuple[int, int]
"""Units, and how long it took in nanoseconds."""


class Unit(StrEnum):
    """What calls are counted in."""

    OUTPUT_TOKENS = "output tokens"
    WORK_ITEMS = "units"
    """`llmphases.units`, as the program said."""


class Reason(StrEnum):
    """Why there is no fit."""

    TOO_FEW_CALLS = "too few calls"
    """Of those that ended well, say their units and have time that nothing tells apart."""
    UNITS_HARDLY_VARY = "units hardly vary"
    NOT_A_LINE = "not a line"
    """More units take less time, or no unit at all would take less than nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """What a number lies in, both ends included."""

    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """``duration = fixed + per_unit * units``, in nanoseconds.

    The two intervals together hold the truth in at least `CONFIDENCE` of all cases, whatever the
    noise is like, as long as it is as large for small calls as for large ones. They are order
    statistics: of the slopes between all pairs of calls, and of what is left of the durations.
    """

    unit: Unit
    fixed_ns: float
    """0 or more; the noise that is usual is in it."""
    per_unit_ns: float
    """0 or more."""
    fixed_interval: Interval
    per_unit_interval: Interval
    calls: int
    """How many it rests on."""
    units: Interval
    """The smallest and the largest of them: beyond, it is a guess."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoFit:
    """Why fixed cost and cost per unit cannot be told."""

    unit: Unit
    reason: Reason
    calls: int
    """How many could have been used."""


def fit(calls: Iterable[Call], unit: Unit = Unit.OUTPUT_TOKENS) -> Fit | NoFit:
    """The line through the calls (of one kind) whose generation was not seen.

    Robust: the slope is the median of those between all pairs of calls (Theil-Sen), the fixed cost
    the median of what is left. Failed calls, calls that do not say their units, and calls of which
    every instant is told apart take no part.
    """
    points = sorted(point for call in calls if (point := _point(call, unit)) is not None)
    number = len(points)
    if number < FEWEST_CALLS:
        return NoFit(unit=unit, reason=Reason.TOO_FEW_CALLS, calls=number)
    if not _vary(points):
        return NoFit(unit=unit, reason=Reason.UNITS_HARDLY_VARY, calls=number)
    points = _thinned(points)
    rank = rank_of_slope(list(Counter(x for x, _ in points).values()), _MISS)
    if not rank:
        return NoFit(unit=unit, reason=Reason.UNITS_HARDLY_VARY, calls=number)
    found = _line(points, rank, unit)
    return found or NoFit(unit=unit, reason=Reason.NOT_A_LINE, calls=number)


def units_of(call: Call, unit: Unit) -> int | None:
    """How many of these units a call has; None if nobody said."""
    if unit is Unit.WORK_ITEMS:
        return call.units
    return call.usage.output_tokens if call.usage is not None else None


def _point(call: Call, unit: Unit) -> _Point | None:
    units = units_of(call, unit)
    if units is None or call.error_type is not None or not call.cost_ns(Cost.UNSPLIT):
        return None
    return units, call.duration_ns


def _vary(points: Sequence[_Point]) -> bool:
    units = [x for x, _ in points]
    smaller, larger = quantile(units, 0.1), quantile(units, 0.9)
    return larger > smaller and larger >= smaller * LEAST_SPREAD


def _thinned(points: list[_Point]) -> list[_Point]:
    if len(points) <= MOST_CALLS:
        return points
    return [points[at * (len(points) - 1) // (MOST_CALLS - 1)] for at in range(MOST_CALLS)]


def _line(points: Sequence[_Point], rank: int, unit: Unit) -> Fit | None:
    slopes = sorted(
        (y2 - y1) / (x2 - x1)
        for at, (x1, y1) in enumerate(points)
        for x2, y2 in points[at + 1 :]
        if x2 != x1
    )
    flattest, steepest = slopes[rank - 1], slopes[-rank]
    slope = max(0.0, quantile(slopes, 0.5))
    edge = rank_of_median(len(points), _MISS)
    # The steeper, the less is left: the two ends of one are the other ends of the other.
    highest = _left(points, flattest)[-edge]
    if steepest < 0 or highest < 0:
        return None
    return Fit(
        unit=unit,
        fixed_ns=max(0.0, quantile(_left(points, slope), 0.5)),
        per_unit_ns=slope,
        fixed_interval=Interval(low=max(0.0, _left(points, steepest)[edge - 1]), high=highest),
        per_unit_interval=Interval(low=max(0.0, flattest), high=steepest),
        calls=len(points),
        units=Interval(low=points[0][0], high=points[-1][0]),
    )


def _left(points: Sequence[_Point], slope: float) -> list[float]:
    """What each call took beyond its units, in order."""
    return sorted(y - slope * x for x, y in points)
