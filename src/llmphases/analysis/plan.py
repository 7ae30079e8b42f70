"""Into how many chunks work is best split: predicted wall times, and why."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from llmphases.analysis.plan_schedule import finished_ns

_ALL_COUNTS_UP_TO = 500
"""Units; of more, every count is tried near the fewest chunks, and few beyond."""
_NEAR = 200
_MOST_NEAR = 1_000
_MOST_CALLS = 200_000
"""How many calls, over all counts near the fewest, are worth the time to predict them."""
_MOST_CHUNKS = 10_000
"""More than these are looked at only where the ceilings leave no fewer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What is to be done, and what one call of it takes: ``fixed + per_unit * units``."""

    units: int
    """1 or more."""
    workers: int
    """1 or more: how many calls at once."""
    fixed_ns: float
    per_unit_ns: float
    contention: float = 0.0
    """By which factor of its time alone a call gets slower for each other one that runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """What cannot be exceeded; None where nothing limits."""

    max_units_per_call: int | None = None
    memory_per_call: float | None = None
    """Bytes."""
    memory_limit: float | None = None
    """Bytes, for all calls at once."""
    requests_per_minute: int | None = None
    """Of one request a call, in any 60 s; none went out before."""


class Limit(StrEnum):
    """A ceiling that changed the plan."""

    MAX_UNITS_PER_CALL = "max_units_per_call"
    MEMORY = "memory"
    REQUESTS_PER_MINUTE = "requests_per_minute"


class Rule(StrEnum):
    """Why the best number of chunks is what it is."""

    ONE_CALL = "one call"
    """Splitting gains nothing: each piece would pay the fixed cost again."""
    ONE_WAVE = "one wave"
    """All chunks run at once, and pay the fixed cost at the same time; more of them would not make
    the largest any smaller."""
    SEVERAL_WAVES = "several waves"
    """More chunks than run at once."""
    FEWER = "fewer than workers"
    """Company, or a limit of requests, costs more than shorter pieces save."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One way to split."""

    chunks: int
    waves: int
    predicted_ns: float
    largest: int
    """Units in the largest chunk; the smallest has one less at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What each way to split takes, and the best."""

    work: Work
    ceilings: Ceilings
    workers: int
    """How many calls run at once under the ceiling of memory; 0 if there is room for none."""
    options: tuple[Option, ...]
    """By number of chunks, every sensible one; none if there is no room for one call."""
    recommended: Option | None
    """The fastest, of equally fast ones that with the fewest chunks; None without options."""
    rule: Rule | None
    today: Option | None
    """How it is split now, if that is known; whatever the ceiling of units says."""
    limits: tuple[Limit, ...]
    """Those ceilings that make the best another, or slower: beside the others, or alone."""


def plan(work: Work, ceilings: Ceilings | None = None, *, today: int | None = None) -> Plan:
    """Predict every sensible number of chunks of near to equal size, the larger first.

    Each goes to the first worker that is free. `today` is the number of chunks now.
    """
    ceilings = ceilings or Ceilings()
    workers = _at_once(work, ceilings)
    if workers < 1:
        return Plan(
            work=work, ceilings=ceilings, workers=0, options=(), recommended=None, rule=None,
            today=None, limits=(Limit.MEMORY,),
        )  # fmt: skip
    options = _options(work, ceilings)
    best = _best(options)
    return Plan(
        work=work,
        ceilings=ceilings,
        workers=workers,
        options=options,
        recommended=best,
        rule=_rule(best, work.units, workers),
        today=None if today is None else _option(work, ceilings, today),
        limits=_limits(work, ceilings, best),
    )


def _at_once(work: Work, ceilings: Ceilings) -> int:
    if ceilings.memory_per_call is None or ceilings.memory_limit is None:
        return work.workers
    if not ceilings.memory_per_call:
        return work.workers
    return min(work.workers, int(ceilings.memory_limit // ceilings.memory_per_call))


def _options(work: Work, ceilings: Ceilings) -> tuple[Option, ...]:
    counts = _counts(work, ceilings)
    return tuple(_option(work, ceilings, chunks) for chunks in counts)


def _best(options: tuple[Option, ...]) -> Option:
    # In twelve digits: sums that are equal may differ in the last binary ones.
    return min(options, key=lambda option: (float(f"{option.predicted_ns:.12g}"), option.chunks))


def _counts(work: Work, ceilings: Ceilings) -> list[int]:
    """Which numbers of chunks are sensible."""
    units = work.units
    fewest = -(-units // (ceilings.max_units_per_call or units))
    if units <= _ALL_COUNTS_UP_TO:
        return list(range(fewest, units + 1))
    workers = _at_once(work, ceilings)
    near = min(max(_NEAR, 2 * workers), _MOST_NEAR, _MOST_CALLS // fewest)
    counts = {*range(fewest, min(units, fewest + near) + 1)}
    at_once = min(units, workers)
    beyond = fewest + near
    while beyond < at_once:
        counts.add(beyond)
        beyond += beyond // 4 + 1
    waves = -(-fewest // workers)
    # A wave of very many takes long to predict, and pays a fixed cost for next to nothing.
    while waves * workers <= min(units, max(_MOST_CHUNKS, fewest + workers)):
        counts.add(waves * workers)
        waves *= 2
    if units <= max(_MOST_CHUNKS, workers):
        counts.add(units)
    return sorted(counts)


def _option(work: Work, ceilings: Ceilings, chunks: int) -> Option:
    small, larger = divmod(work.units, chunks)
    workers = _at_once(work, ceilings)
    needed = [work.fixed_ns + work.per_unit_ns * (small + (at < larger)) for at in range(chunks)]
    return Option(
        chunks=chunks,
        waves=-(-chunks // workers),
        predicted_ns=finished_ns(
            needed,
            workers=workers,
            contention=work.contention,
            per_minute=ceilings.requests_per_minute,
        ),
        largest=small + bool(larger),
    )


def _rule(best: Option, units: int, workers: int) -> Rule:
    if best.chunks == 1:
        return Rule.ONE_CALL
    if best.chunks > workers:
        return Rule.SEVERAL_WAVES
    return Rule.ONE_WAVE if best.largest == -(-units // workers) else Rule.FEWER


def _limits(work: Work, ceilings: Ceilings, best: Option) -> tuple[Limit, ...]:
    """Of two that are equally strict neither changes anything when it is lifted."""
    none = Ceilings(memory_per_call=ceilings.memory_per_call)
    free = _best(_options(work, none))
    found = []
    for limit, name in _NAMES.items():
        given = getattr(ceilings, name)
        if given is None:
            continue
        without, alone = replace(ceilings, **{name: None}), replace(none, **{name: given})
        if _best(_options(work, without)) != best or _best(_options(work, alone)) != free:
            found.append(limit)
    return tuple(found)


_NAMES = {
    Limit.MAX_UNITS_PER_CALL: "max_units_per_call",
    Limit.MEMORY: "memory_limit",
    Limit.REQUESTS_PER_MINUTE: "requests_per_minute",
}
