"""Several runs of one command: what is usual, how much it varies, and what company costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from llmphases.analysis.statistics import quantile
from llmphases.calls import Call
from llmphases.phases import Cost, Phase

_TOO_SHORT_NS = 5_000_000
"""Times below this are not held against each other: on a busy machine a process waits that long to
be woken, so that their ratio tells of the scheduler, and not of company."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """The median of some numbers, and the range they lie in."""

    count: int
    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """Runs of one command, so many at a time.

    Times are of the runs that went well; if none did, of all. Each is over the runs in which it
    occurs; what occurs in none is None, or not in a mapping.
    """

    calls: tuple[Call, ...]
    """Those that the times are of."""
    runs: int
    failed: int
    workers: int
    took_ns: int
    """From the start of the first to the end of the last."""
    duration: Spread | None
    """None only if there are no runs."""
    first_token: Spread | None
    """From the start of a run."""
    phases: Mapping[Phase, Spread]
    unattributed: Spread | None
    fixed: Spread | None
    """Of the runs in which fixed cost and generation can be told apart, as `generation`."""
    generation: Spread | None
    share: Spread | None
    """fixed / (fixed + generation)."""
    memory_peak: Spread | None
    cpu_share: Spread | None

    @property
    def went_well(self) -> bool:
        """Whether any run did."""
        return self.failed < self.runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What came of measuring one command."""

    name: str
    exit_code: int
    alone: Repeats
    """One at a time."""
    together: Repeats | None
    """Several at a time; None if that was not asked for."""
    is_tapped: bool = False
    """Whether its requests to the model were looked at."""

    @property
    def is_comparable(self) -> bool:
        """Whether company can be held against solitude: how long a failure takes says nothing."""
        return self.together is not None and self.alone.went_well and self.together.went_well


def repeats(calls: Iterable[Call], *, workers: int, took_ns: int) -> Repeats:
    """What these runs have in common."""
    everything = tuple(calls)
    good = tuple(call for call in everything if call.error_type is None)
    timed = good or everything
    told_apart = [call for call in timed if call.fixed_share is not None]
    uses = [call.process for call in timed if call.process is not None]
    phases = {phase: spread(c.exclusive_ns.get(phase) for c in timed) for phase in Phase}
    return Repeats(
        calls=timed,
        runs=len(everything),
        failed=len(everything) - len(good),
        workers=workers,
        took_ns=took_ns,
        duration=spread(call.duration_ns for call in timed),
        first_token=spread(call.first_token_ns for call in timed),
        phases={phase: found for phase, found in phases.items() if found is not None},
        unattributed=spread(call.unattributed_ns or None for call in timed),
        fixed=spread(call.cost_ns(Cost.FIXED) for call in told_apart),
        generation=spread(call.cost_ns(Cost.GENERATION) for call in told_apart),
        share=spread(call.fixed_share for call in told_apart),
        memory_peak=spread(use.memory_peak for use in uses),
        cpu_share=spread(use.cpu_share for use in uses),
    )


def spread(numbers: Iterable[float | None]) -> Spread | None:
    """Of those that are known; None if none is."""
    known = sorted(number for number in numbers if number is not None)
    if not known:
        return None
    return Spread(count=len(known), median=quantile(known, 0.5), least=known[0], most=known[-1])


def slower(alone: Spread | None, together: Spread | None) -> float | None:
    """How many times as long something takes in company.

    None where one is unknown or nothing, or where both are too short to say.
    """
    if alone is None or together is None or not alone.median:
        return None
    if max(alone.median, together.median) < _TOO_SHORT_NS:
        return None
    return together.median / alone.median
