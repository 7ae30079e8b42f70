"""What a plan means: the rule, in words."""

from __future__ import annotations

from collections.abc import Iterator

from llmphases.analysis.plan import Limit, Option, Plan, Rule
from llmphases.reports.wording import count, duration, percent, size, times


def plan_meaning(plan: Plan) -> str:
    """How to split and why, what holds it back, and what other ways would take."""
    if plan.recommended is None:
        return (
            f"There is no room for one call: it needs {size(plan.ceilings.memory_per_call or 0)} "
            f"of memory, and {size(plan.ceilings.memory_limit or 0)} may be used."
        )
    best = plan.recommended
    sentences = [_advice(plan, best), *_held_back(plan), *_others(plan, best)]
    return " ".join(sentences)


def pieces(option: Option) -> str:
    """`one call`, `4 chunks in one wave`, `156 chunks in 39 waves`."""
    if option.chunks == 1:
        return "one call"
    waves = "one wave" if option.waves == 1 else f"{option.waves:,} waves"
    return f"{option.chunks:,} chunks in {waves}"


def _advice(plan: Plan, best: Option) -> str:
    fixed = duration(plan.work.fixed_ns)
    took = duration(best.predicted_ns)
    if plan.rule is Rule.ONE_CALL:
        return f"Make one call, of {took}: {_why_not_split(plan, fixed)}."
    of_size = f"of {best.largest:,} {'unit' if best.largest == 1 else 'units'}"
    if plan.work.units % best.chunks:
        of_size += " or one less"
    chosen = f"Split into {pieces(best)}, {of_size}: {took}"
    if plan.rule is Rule.ONE_WAVE:
        if not plan.work.fixed_ns:
            return f"{chosen}. Nothing is paid per call, and every worker is busy."
        return f"{chosen}. All run at once, and pay the {fixed} of fixed cost at the same time."
    if plan.rule is Rule.FEWER:
        return (
            f"{chosen}. More could run at once, but {_company(plan)} more than shorter pieces save."
        )
    if not plan.work.fixed_ns:
        return f"{chosen}."
    full = "" if best.chunks % plan.workers else ", so that full waves waste the least"
    return f"{chosen}. Each wave pays the {fixed} of fixed cost once more{full}."


def _why_not_split(plan: Plan, fixed: str) -> str:
    if plan.work.units == 1:
        return "there is one unit"
    if plan.workers == 1:
        return f"one runs at a time, and each piece would pay the {fixed} of fixed cost again"
    if not plan.work.per_unit_ns:
        return "what it takes does not depend on the units in it, so that shorter ones save nothing"
    return f"{_company(plan)} more than shorter pieces save"


def _company(plan: Plan) -> str:
    costly = []
    if plan.work.contention:
        costly.append(f"each other call makes a call {percent(plan.work.contention)} slower")
    if Limit.REQUESTS_PER_MINUTE in plan.limits:
        costly.append("requests have to wait for the next minute")
    if not costly:
        return "each piece pays the fixed cost again, which costs"
    return " and ".join(costly) + ", which costs"


def _held_back(plan: Plan) -> Iterator[str]:
    ceilings = plan.ceilings
    told = {
        Limit.MAX_UNITS_PER_CALL: f"{count(ceilings.max_units_per_call or 0, 'unit')} a call",
        Limit.MEMORY: f"memory for {count(plan.workers, 'call')} at once",
        Limit.REQUESTS_PER_MINUTE: f"{count(ceilings.requests_per_minute or 0, 'request')} "
        "a minute",
    }
    if plan.limits:
        yield f"What limits it: {', '.join(told[limit] for limit in plan.limits)}."


def _others(plan: Plan, best: Option) -> Iterator[str]:
    first, last = plan.options[0], plan.options[-1]
    if first.chunks == 1 != best.chunks:
        yield f"One call would take {duration(first.predicted_ns)}."
    is_slower = last.predicted_ns > best.predicted_ns * (1 + 1e-9)
    if last.waves > best.waves and is_slower and last != plan.today and plan.work.fixed_ns:
        yield (
            f"More chunks than run at once pay the fixed cost again in each wave: "
            f"{pieces(last)} take {duration(last.predicted_ns)}."
        )
    if plan.work.contention >= 1 and plan.workers > 1 and best.chunks > 1:
        yield "Calls slow each other by as much as they do: one at a time would be no slower."
    yield from _today(plan, best)


def _today(plan: Plan, best: Option) -> Iterator[str]:
    today = plan.today
    if today is None:
        return
    if today.chunks == best.chunks:
        yield "It is done so today."
    elif not best.predicted_ns or today.predicted_ns <= best.predicted_ns:
        yield f"Today's {pieces(today)} would be no slower: {duration(today.predicted_ns)}."
    else:
        factor = times(today.predicted_ns / best.predicted_ns)
        yield f"Today, {pieces(today)}: {duration(today.predicted_ns)}, {factor} times as long."
