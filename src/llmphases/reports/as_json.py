"""The split as JSON, in seconds; null for what no call had."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from llmphases.analysis.split import Group, Split
from llmphases.analysis.statistics import Statistics
from llmphases.phases import Cost


def as_json(split: Split) -> str:
    """One JSON document; keys may be added in later versions, none will change its meaning."""
    return json.dumps(as_document(split), indent=2)


def as_document(split: Split) -> dict[str, Any]:
    """The same before it is written: for what holds more than one split."""
    return {
        "calls": split.calls,
        "runs": split.runs,
        "groups": [{"name": group.name, **_group(group)} for group in split.groups],
        "totals": _group(split.totals),
    }


def _group(group: Group) -> dict[str, Any]:
    return {
        "calls": group.calls,
        "nested": group.nested,
        "errors": group.errors,
        "error_types": dict(group.error_types),
        "failed_s": _seconds(group.failed),
        "duration_s": _seconds(group.duration),
        "time_to_first_token_s": _seconds(group.time_to_first_token),
        **{f"{cost.value}_s": _seconds(group.costs.get(cost)) for cost in Cost},
        "fixed_share": group.share.fixed if group.share else None,
        "calls_with_share": group.share.calls if group.share else 0,
        "phases": {phase.value: _seconds(times) for phase, times in group.phases.items()},
        "unattributed_s": {
            cost.value: _seconds(times) for cost, times in group.unattributed.items()
        },
        "queued_s": _seconds(group.queued),
        "tokens_per_second": group.tokens_per_second,
        "calls_with_rate": group.calls_with_rate,
        "usage": asdict(group.usage) if group.usage else None,
        "requests": group.requests,
        "retries": group.retries,
        "processes": asdict(group.processes) if group.processes else None,
    }


def _seconds(times: Statistics | None) -> dict[str, float] | None:
    if times is None:
        return None
    return {
        "p50": times.p50_ns / 1e9,
        "p95": times.p95_ns / 1e9,
        "mean": times.mean_ns / 1e9,
        "total": times.total_ns / 1e9,
        "count": times.count,
    }
