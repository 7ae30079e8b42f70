"""A plan as JSON, times in seconds; null for what is not known."""

from __future__ import annotations

import json
from typing import Any

from llmphases.analysis.fit import Interval
from llmphases.analysis.plan import Option, Plan
from llmphases.analysis.plan_costs import Costs
from llmphases.reports.plan_meaning import plan_meaning

_NS = 1e9


def plan_json(plan: Plan, costs: Costs | None = None) -> str:
    """One JSON document; keys may be added in later versions, none will change its meaning."""
    document = {
        "recommended": _option(plan.recommended),
        "options": [_option(option) for option in plan.options],
        "today": _option(plan.today),
        "limits": [limit.value for limit in plan.limits],
        "rule": None if plan.rule is None else plan.rule.value,
        "meaning": plan_meaning(plan),
        "units": plan.work.units,
        "workers": plan.work.workers,
        "at_once": plan.workers,
        "fixed_s": plan.work.fixed_ns / _NS,
        "per_unit_s": plan.work.per_unit_ns / _NS,
        "recorded": None if costs is None else _recorded(costs),
    }
    return json.dumps(document, indent=2)


def _option(option: Option | None) -> dict[str, Any] | None:
    if option is None:
        return None
    return {
        "chunks": option.chunks,
        "waves": option.waves,
        "predicted_s": option.predicted_ns / _NS,
        "largest_chunk": option.largest,
    }


def _recorded(costs: Costs) -> dict[str, Any]:
    found = costs.fit
    return {
        "calls": costs.calls,
        "fixed_s_range": None if found is None else _range(found.fixed_interval),
        "per_unit_s_range": None if found is None else _range(found.per_unit_interval),
    }


def _range(interval: Interval) -> list[float]:
    return [interval.low / _NS, interval.high / _NS]
