"""The work of the story, and changes to it."""

from __future__ import annotations

from dataclasses import replace

from llmphases.analysis.plan import Ceilings, Plan, Work, plan

STORY = Work(units=156, workers=4, fixed_ns=68e9, per_unit_ns=1.9e9)


def planned(*, today: int | None = None, held: Ceilings | None = None, **changed) -> Plan:
    """A plan of the story."""
    return plan(replace(STORY, **changed), held, today=today)
