"""The times of a command as JSON, in seconds; null for what was not seen."""

from __future__ import annotations

import json
from typing import Any

from llmphases.analysis.repeats import Measured, Repeats, Spread, slower
from llmphases.analysis.split import split
from llmphases.reports.as_json import as_document
from llmphases.reports.command_meaning import command_meaning

_NS = 1e9


def command_json(measured: Measured) -> str:
    """One object in one line; keys may be added in later versions, none will change its meaning."""
    alone, together = measured.alone, measured.together
    document: dict[str, Any] = {
        "name": measured.name,
        "exit_code": measured.exit_code,
        "alone": _runs(alone),
        "together": None,
        "times_as_long": None,
        "meaning": command_meaning(measured),
    }
    if together is not None:
        document["together"] = _runs(together)
        if measured.is_comparable:
            document["times_as_long"] = _times_as_long(alone, together)
    return json.dumps(document)


def _runs(runs: Repeats) -> dict[str, Any]:
    groups = as_document(split(runs.calls))["groups"]
    return {
        "runs": runs.runs,
        "failed": runs.failed,
        "workers": runs.workers,
        "took_s": runs.took_ns / _NS,
        "duration_s": _spread(runs.duration, _NS),
        "first_token_after_s": _spread(runs.first_token, _NS),
        "phases_s": {phase.value: _spread(found, _NS) for phase, found in runs.phases.items()},
        "unattributed_s": _spread(runs.unattributed, _NS),
        "fixed_s": _spread(runs.fixed, _NS),
        "generation_s": _spread(runs.generation, _NS),
        "fixed_share": _spread(runs.share),
        "memory_peak_bytes": _spread(runs.memory_peak),
        "cpu_share": _spread(runs.cpu_share),
        "usage": groups[0]["usage"] if groups else None,
        "retries": groups[0]["retries"] if groups else 0,
    }


def _times_as_long(alone: Repeats, together: Repeats) -> dict[str, float | None]:
    found = {"duration": slower(alone.duration, together.duration)}
    for phase, spread in alone.phases.items():
        found[phase.value] = slower(spread, together.phases.get(phase))
    return found


def _spread(spread: Spread | None, unit: float = 1) -> dict[str, float] | None:
    if spread is None:
        return None
    return {
        "median": spread.median / unit,
        "least": spread.least / unit,
        "most": spread.most / unit,
        "count": spread.count,
    }
