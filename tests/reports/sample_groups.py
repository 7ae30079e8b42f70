"""Calls with stated times, and the groups that they make."""

from __future__ import annotations

from llmphases.analysis.split import Group, split
from llmphases.calls import Call
from llmphases.phases import Cost, Phase

SECOND = 1_000_000_000


def call(name="ask", /, *, unattributed=0.0, **more):
    """A call made of phases in seconds, by name; other fields as they are."""
    phases = {p: more.pop(p.value) for p in Phase if p.value in more}
    exclusive = {phase: round(s * SECOND) for phase, s in phases.items()}
    rest = round(unattributed * SECOND)
    more.setdefault("unattributed_cost", Cost.FIXED if rest else Cost.UNSPLIT)
    return Call(
        name=name,
        start_unix_ns=0,
        duration_ns=sum(exclusive.values()) + rest,
        exclusive_ns=exclusive,
        unattributed_ns=rest,
        **more,
    )


def group(*calls) -> Group:
    """The one group of calls of one name."""
    (found,) = split(calls).groups
    return found
