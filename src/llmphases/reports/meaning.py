"""What the numbers of a group mean, in one plain sentence."""

from __future__ import annotations

from llmphases.analysis.split import Group, Share
from llmphases.phases import Cost
from llmphases.reports.wording import count, duration, percent

_MOST = 0.5
_MOSTLY_FIXED = 0.6
_MOSTLY_GENERATION = 0.4
_FEW_CALLS = 5
UNATTRIBUTED = "unattributed"
"""What time is called that no phase covers."""


def meaning(group: Group) -> str:
    """What to do, or what cannot be known; with a warning where it rests on a few calls."""
    if group.duration is None or group.duration.total_ns == 0:
        return "There is no time here to explain."
    mean_ns = group.duration.mean_ns
    for cost, say in ((Cost.TOOL, _tools), (Cost.DELIVERY, _consumer)):
        if _of_all(group, cost) > _MOST:
            return say(group.costs[cost].mean_ns, mean_ns) + _reservation(group.calls)
    share = group.share
    if share is None or _of_all(group, Cost.UNSPLIT) > _MOST:
        return _cannot_tell(group.costs[Cost.UNSPLIT].mean_ns, mean_ns)
    return _told_apart(group, share) + _reservation(share.calls, group.calls)


def _of_all(group: Group, cost: Cost) -> float:
    assert group.duration is not None
    return group.costs[cost].total_ns / group.duration.total_ns


def _tools(tools_ns: float, all_ns: float) -> str:
    return (
        f"Tools take {duration(tools_ns)} of each call's {duration(all_ns)}: "
        f"look at them first, not at the model."
    )


def _consumer(delivery_ns: float, all_ns: float) -> str:
    return (
        f"Whoever takes the answer spends {duration(delivery_ns)} of each call's "
        f"{duration(all_ns)}: look there first, not at the model."
    )


def _cannot_tell(unsplit_ns: float, all_ns: float) -> str:
    return (
        f"Nothing tells fixed cost and generation apart in {duration(unsplit_ns)} of each call's "
        f"{duration(all_ns)}: stream the answer, or mark its first token, and look again."
    )


def _told_apart(group: Group, share: Share) -> str:
    fixed, generation = share.fixed_ns / share.calls, share.generation_ns / share.calls
    if share.generation_ns == 0:
        if group.errors == group.calls:
            return f"Every call failed before its first token, after {duration(fixed)}."
        return f"No generation was seen: each call is {duration(fixed)} of fixed cost."
    if share.fixed <= _MOSTLY_GENERATION:
        return (
            f"Most of each call is generation: {duration(generation)}, with {duration(fixed)} of "
            f"fixed cost ({percent(share.fixed)} fixed): shorter answers, a faster model or more "
            f"parallel calls help; fuller calls do not."
        )
    most = _largest_fixed_part(group) if share.calls == group.calls else None
    pays = (
        f"Each call pays {duration(fixed)} before or around {duration(generation)} of generation "
        f"({percent(share.fixed)} fixed" + (f", most of it {most})" if most else ")")
    )
    if share.fixed >= _MOSTLY_FIXED:
        return f"{pays}: fewer, fuller calls help; more parallel ones do not."
    return f"{pays}: fuller calls save the one, shorter answers or a faster model the other."


def _largest_fixed_part(group: Group) -> str | None:
    """The part that makes most of the fixed cost, if one does."""
    parts = {p.value: t.total_ns for p, t in group.phases.items() if p.cost is Cost.FIXED}
    if Cost.FIXED in group.unattributed:
        parts[UNATTRIBUTED] = group.unattributed[Cost.FIXED].total_ns
    name = max(parts, key=lambda part: parts[part], default=None)
    total = group.costs[Cost.FIXED].total_ns
    return name if name is not None and parts[name] > _MOST * total else None


def _reservation(calls: int, of: int | None = None) -> str:
    """What the sentence rests on, where that is less than one would think."""
    if of is not None and calls < of:
        return f" This rests on the {calls:,} of {of:,} calls that tell the two apart."
    if calls < _FEW_CALLS:
        return f" This rests on {count(calls, 'call')} only."
    return ""
