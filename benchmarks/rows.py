"""What a benchmark is made of: rows, each measured by pyperf in several processes.

A row says what one thing costs on top of another. Both run in turn, and only the median of their
differences is kept, so what else the machine does hits both and falls out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import thread_time_ns

import pyperf

Pass = Callable[[], int]
"""Does the work once and says how many nanoseconds of this thread's CPU it took."""

LEAST = 1e-10
"""pyperf takes no zero and nothing below it; where a difference is lost in noise, this stands."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table."""

    name: str
    measure: Callable[[int], float]
    """From a number of rounds to seconds (or bytes, or pieces) for one item."""
    target: float | None = None
    """The most it may be: in the row's unit, or as a ratio to `floor` if `target_is_ratio`."""
    target_is_ratio: bool = False
    floor: str | None = None
    """The row it is compared with in the table."""
    is_on_top: bool = False
    """Whether it was measured as what comes on top of its floor: the ratio counts the floor in."""
    unit: str = "second"


def added(make: Callable[[], tuple[Pass, Pass]], items: int = 1) -> Callable[[int], float]:
    """What the second of two passes costs more than the first, per item.

    `make` runs once, in the process that measures.
    """
    made = functools.cache(make)

    def measure(rounds: int) -> float:
        without, with_it = made()
        differences = []
        for number in range(rounds):
            # in turn, for whoever comes second finds warmer caches
            if number % 2:
                before, after = without(), with_it()
            else:
                after, before = with_it(), without()
            differences.append(after - before)
        return median(differences) / items / 1e9

    return measure


def spent(make: Callable[[], Pass], items: int = 1) -> Callable[[int], float]:
    """What a pass costs, per item."""
    made = functools.cache(make)
    return lambda rounds: median(made()() for _ in range(rounds)) / items / 1e9


def timed(work: Callable[[], object]) -> Pass:
    """The pass that does `work`."""

    def once() -> int:
        start = thread_time_ns()
        work()
        return thread_time_ns() - start

    return once


def run(
    rows: list[Row], *, rounds: int = 15, values: int = 3, warmups: int = 1, processes: int = 3
) -> None:
    """Measure every row; pyperf's own options, on the command line, overrule these."""
    runner = pyperf.Runner(processes=processes, values=values, loops=rounds, warmups=warmups)
    for row in rows:
        runner.bench_time_func(row.name, _times(row.measure), metadata=_metadata(row))


def _times(measure: Callable[[int], float]) -> Callable[[int], float]:
    """pyperf divides by the number of loops; a median is no sum."""
    return lambda loops: max(measure(loops), LEAST) * loops


def _metadata(row: Row) -> dict[str, str | int | float]:
    """What the table has to know of a row; pyperf keeps it in its files."""
    known = {
        "unit": row.unit,
        "target": row.target,
        "target_is_ratio": int(row.target_is_ratio),
        "floor": row.floor,
        "is_on_top": int(row.is_on_top),
    }
    return {key: value for key, value in known.items() if value is not None}
