"""Where the time of many calls went: by cost, by phase, per call name and in total."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from llmphases.analysis.statistics import Statistics, quantile, statistics
from llmphases.calls import Call, ProcessUse, Usage
from llmphases.phases import Cost, Phase

K = TypeVar("K")
_Paid = dict[Cost, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Share:
    """Fixed cost and generation of those calls in which the two can be told apart."""

    calls: int
    fixed_ns: int
    generation_ns: int

    @property
    def fixed(self) -> float:
        """fixed / (fixed + generation), 0 to 1: the ratio of the sums."""
        return self.fixed_ns / (self.fixed_ns + self.generation_ns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """What the child processes of calls have used; None where it is known of none."""

    calls: int
    """How many of the calls had one."""
    memory_p50: float | None
    """Bytes; the median of their peaks."""
    memory_max: int | None
    """Bytes; the highest of their peaks."""
    cpu_share: float | None
    """CPU time by wall time: the ratio of the sums."""
    survivors: int
    """Descendants that outlived them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Calls that are looked at together. What no call had or said is None (or not in a mapping)."""

    name: str | None
    """The name of its calls; None for all of them."""
    calls: int
    nested: int
    """How many ran inside other traced calls."""
    errors: int
    error_types: Mapping[str, int]
    duration: Statistics | None
    """None only if there are no calls."""
    time_to_first_token: Statistics | None
    """From the call's start, over the calls that have one."""
    first_tokens_inside: int
    """In how many calls only calls inside them saw a first token; it stays with those."""
    costs: Mapping[Cost, Statistics]
    """Every cost, over all calls; empty only if there are no calls."""
    share: Share | None
    """None if fixed cost and generation cannot be told apart in any call."""
    phases: Mapping[Phase, Statistics]
    """Each phase that occurred, over the calls in which it did."""
    unattributed: Mapping[Cost, Statistics]
    """Time that no phase covers, by what it counts as, over the calls that have any."""
    queued: Statistics | None
    """The wait for a worker before the call; in no sum, over the calls that had to."""
    tokens_per_second: float | None
    """The median over the calls that have a rate."""
    calls_with_rate: int
    usage: Usage | None
    requests: int
    retries: int
    processes: Processes | None
    """None if no call is known to have had a child process."""
    failed: Statistics | None
    """How long the calls took that failed before any token was seen."""
    answered: Group | None
    """The other calls as a group of their own; None if all failed so, or none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Where the time went."""

    calls: int
    runs: int | None
    """How many runs of a program they come from; None where that is not known."""
    groups: tuple[Group, ...]
    """One for each call name, the one that took longest first."""
    totals: Group
    """Times and errors over outermost calls, so that nothing counts twice; usage, requests,
    retries and rates, which stay with the inner call, over all."""


def split(calls: Iterable[Call], *, runs: int | None = None) -> Split:
    """Where the time of these calls, from so many runs, went."""
    everything = list(calls)
    by_name: dict[str, list[Call]] = {}
    for call in everything:
        by_name.setdefault(call.name, []).append(call)
    groups = [_group(name, members, members) for name, members in by_name.items()]
    outermost = [call for call in everything if not call.nested]
    return Split(
        calls=len(everything),
        runs=runs,
        groups=tuple(sorted(groups, key=_longest_first)),
        totals=_group(None, outermost, everything),
    )


def _longest_first(group: Group) -> tuple[int, str]:
    return -(group.duration.total_ns if group.duration else 0), group.name or ""


def _group(name: str | None, timed: Sequence[Call], counted: Sequence[Call]) -> Group:
    """Times from some calls, counts of requests and tokens from some (perhaps more)."""
    failed = [call for call in timed if _gave_nothing(call)]
    answered = [call for call in timed if not _gave_nothing(call)] if failed else []
    error_types = Counter(c.error_type for c in timed if c.error_type is not None)
    paid = [_paid(call) for call in timed]
    rates = sorted(rate for c in counted if (rate := c.tokens_per_second) is not None)
    return Group(
        name=name,
        calls=len(timed),
        nested=sum(c.nested for c in timed),
        errors=error_types.total(),
        error_types=dict(error_types.most_common()),
        duration=statistics(c.duration_ns for c in timed),
        time_to_first_token=_over_known(c.first_token_ns for c in timed),
        first_tokens_inside=sum(map(_is_first_token_inside, timed)),
        costs=_costs(paid),
        share=_share(paid),
        phases=_phases(timed),
        unattributed=_unattributed(timed),
        queued=_over_known(c.queued_ns for c in timed),
        tokens_per_second=quantile(rates, 0.5) if rates else None,
        calls_with_rate=len(rates),
        usage=sum((c.usage for c in counted if c.usage is not None), Usage()) or None,
        requests=sum(c.requests for c in counted),
        retries=sum(c.retries for c in counted),
        processes=_processes([c.process for c in counted if c.process is not None]),
        failed=statistics(c.duration_ns for c in failed),
        answered=_group(name, answered, answered) if answered else None,
    )


def _gave_nothing(call: Call) -> bool:
    """Whether it failed, and nothing is known of any token."""
    if call.error_type is None or call.first_token_ns is not None:
        return False
    tokens = call.usage.output_tokens if call.usage is not None else None
    return not tokens and not call.exclusive_ns.get(Phase.GENERATION)


def _is_first_token_inside(call: Call) -> bool:
    """Times travel up from inner calls; requests and first tokens do not."""
    has_wait = Phase.TIME_TO_FIRST_TOKEN in call.exclusive_ns
    return has_wait and call.first_token_ns is None and call.requests == 0


def _processes(uses: Sequence[ProcessUse]) -> Processes | None:
    if not uses:
        return None
    peaks = sorted(use.memory_peak for use in uses if use.memory_peak is not None)
    timed = [(u.cpu_ns, u.wall_ns) for u in uses if u.cpu_ns is not None and u.wall_ns]
    return Processes(
        calls=len(uses),
        memory_p50=quantile(peaks, 0.5) if peaks else None,
        memory_max=peaks[-1] if peaks else None,
        cpu_share=sum(cpu for cpu, _ in timed) / sum(w for _, w in timed) if timed else None,
        survivors=sum(use.survivors or 0 for use in uses),
    )


def _over_known(durations_ns: Iterable[int | None]) -> Statistics | None:
    return statistics(ns for ns in durations_ns if ns is not None)


def _costs(paid: Sequence[_Paid]) -> dict[Cost, Statistics]:
    return _known({cost: statistics(costs[cost] for costs in paid) for cost in Cost})


def _phases(calls: Sequence[Call]) -> dict[Phase, Statistics]:
    times: dict[Phase, list[int]] = {phase: [] for phase in Phase}
    for call in calls:
        for phase, ns in call.exclusive_ns.items():
            times[phase].append(ns)
    return _known({phase: statistics(ns) for phase, ns in times.items()})


def _unattributed(calls: Sequence[Call]) -> dict[Cost, Statistics]:
    times: dict[Cost, list[int]] = {cost: [] for cost in Cost}
    for call in calls:
        if call.unattributed_ns:
            times[call.unattributed_cost].append(call.unattributed_ns)
    return _known({cost: statistics(ns) for cost, ns in times.items()})


def _known(found: Mapping[K, Statistics | None]) -> dict[K, Statistics]:
    return {key: value for key, value in found.items() if value is not None}


def _share(paid: Sequence[_Paid]) -> Share | None:
    told_apart = [costs for costs in paid if _can_be_told_apart(costs)]
    if not told_apart:
        return None
    return Share(
        calls=len(told_apart),
        fixed_ns=sum(costs[Cost.FIXED] for costs in told_apart),
        generation_ns=sum(costs[Cost.GENERATION] for costs in told_apart),
    )


def _can_be_told_apart(costs: _Paid) -> bool:
    """As `Call.fixed_share` has it, from costs that are summed up already."""
    return costs[Cost.UNSPLIT] == 0 < costs[Cost.FIXED] + costs[Cost.GENERATION]


def _paid(call: Call) -> _Paid:
    """What one call pays in each bucket, in one pass over its phases."""
    costs = dict.fromkeys(Cost, 0)
    costs[call.unattributed_cost] = call.unattributed_ns
    for phase, ns in call.exclusive_ns.items():
        costs[phase.cost] += ns
    return costs
