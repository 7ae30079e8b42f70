"""What the numbers of a group mean, in one plain sentence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from llmphases.analysis.split import Group, Share
from llmphases.analysis.statistics import Statistics
from llmphases.phases import Cost, Phase
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
    if group.failed is None:
        return _explained(group)
    if group.answered is None:
        return (
            f"Every call failed before a token was seen, after {duration(group.failed.mean_ns)} "
            f"each: look at the errors; if they are rate limits, fewer calls at once help."
        )
    return meaning(group.answered) + _left_out(group.failed, group.calls)


def _explained(group: Group) -> str:
    assert group.duration is not None
    mean_ns = group.duration.mean_ns
    for cost, say in ((Cost.TOOL, _tools), (Cost.DELIVERY, _delivery)):
        if _of_all(group, cost) > _MOST:
            return say(group, mean_ns) + _reservation(group.calls)
    share = group.share
    if share is None or _of_all(group, Cost.UNSPLIT) > _MOST:
        return _cannot_tell(group.costs[Cost.UNSPLIT].mean_ns, mean_ns)
    return _told_apart(group, share) + _reservation(share.calls, group.calls)


def _of_all(group: Group, cost: Cost) -> float:
    assert group.duration is not None
    return group.costs[cost].total_ns / group.duration.total_ns


def _tools(group: Group, all_ns: float) -> str:
    return (
        f"Tools take {duration(group.costs[Cost.TOOL].mean_ns)} of each call's "
        f"{duration(all_ns)}: look at them first, not at the model."
    )


def _delivery(group: Group, all_ns: float) -> str:
    delivery = group.costs[Cost.DELIVERY]
    after = group.phases.get(Phase.POST_PROCESSING)
    if after is not None and after.total_ns > _MOST * delivery.total_ns:
        return (
            f"Post-processing takes {duration(after.total_ns / group.calls)} of each call's "
            f"{duration(all_ns)}: look at that code first, not at the model."
        )
    return (
        f"Whoever takes the answer spends {duration(delivery.mean_ns)} of each call's "
        f"{duration(all_ns)}: look there first, not at the model."
    )


def _cannot_tell(unsplit_ns: float, all_ns: float) -> str:
    return (
        f"Nothing tells fixed cost and generation apart in {duration(unsplit_ns)} of each call's "
        f"{duration(all_ns)}: return the stream, or read it through traced_stream(...), and look "
        f"again."
    )


def _told_apart(group: Group, share: Share) -> str:
    fixed, generation = share.fixed_ns / share.calls, share.generation_ns / share.calls
    if share.generation_ns == 0:
        return f"No generation was seen: each call is {duration(fixed)} of fixed cost."
    if share.fixed <= _MOSTLY_GENERATION:
        return (
            f"Most of each call is generation: {duration(generation)}, with {duration(fixed)} of "
            f"fixed cost ({percent(share.fixed)} fixed): shorter answers, a faster model or more "
            f"parallel calls help; fuller calls do not."
        )
    parts = _fixed_parts(group)
    most = _largest(parts) if share.calls == group.calls else None
    pays = (
        f"Each call pays {duration(fixed)} before or around {duration(generation)} of generation "
        f"({percent(share.fixed)} fixed" + (f", most of it {most})" if most else ")")
    )
    advice = _advice(parts)
    if share.fixed >= _MOSTLY_FIXED:
        return f"{pays}: {advice.alone}"
    return f"{pays}: {advice.half} the one, shorter answers or a faster model the other."


@dataclass(frozen=True, slots=True)
class _Advice:
    """What helps against fixed cost of one kind."""

    alone: str
    half: str
    """The same as half a sentence, where generation is as much."""


_FULLER_CALLS = _Advice("fewer, fuller calls help; more parallel ones do not.", "fuller calls save")
_FEWER_AT_ONCE = _Advice(
    "look at the errors and rate limits; fewer calls at once help, fuller ones do not.",
    "fewer errors and fewer calls at once save",
)
_OWN_CODE = _Advice(
    "that is your own code, not the model: make it faster, or keep its results.",
    "faster code of your own saves",
)
_ADVICE = {
    Phase.RETRY.value: _FEWER_AT_ONCE,
    Phase.QUEUE_WAIT.value: _FEWER_AT_ONCE,
    Phase.RETRIEVAL.value: _OWN_CODE,
    Phase.PROMPT_BUILD.value: _OWN_CODE,
    Phase.CACHE_LOOKUP.value: _OWN_CODE,
}
"""For the parts that are no model's and no tool's; fuller calls are for all others."""


def _advice(parts: Mapping[str, int]) -> _Advice:
    """What helps against the kind of part that takes most of the time."""
    times = dict.fromkeys((_FULLER_CALLS, _FEWER_AT_ONCE, _OWN_CODE), 0)
    for part, ns in parts.items():
        times[_ADVICE.get(part, _FULLER_CALLS)] += ns
    return max(times, key=lambda advice: times[advice])


def _fixed_parts(group: Group) -> dict[str, int]:
    parts = {p.value: t.total_ns for p, t in group.phases.items() if p.cost is Cost.FIXED}
    if Cost.FIXED in group.unattributed:
        parts[UNATTRIBUTED] = group.unattributed[Cost.FIXED].total_ns
    return parts


def _largest(parts: Mapping[str, int]) -> str | None:
    """The part that makes most of the fixed cost, if one does."""
    name = max(parts, key=lambda part: parts[part], default=None)
    return name if name is not None and parts[name] > _MOST * sum(parts.values()) else None


def _left_out(failed: Statistics, of: int) -> str:
    return (
        f" Left out: {failed.count:,} of {count(of, 'call')} that failed before a token was seen, "
        f"after {duration(failed.total_ns)} in all; look at the errors."
    )


def _reservation(calls: int, of: int | None = None) -> str:
    """What the sentence rests on, where that is less than one would think."""
    if of is not None and calls < of:
        return f" This rests on the {calls:,} of {of:,} calls that tell the two apart."
    if calls < _FEW_CALLS:
        return f" This rests on {count(calls, 'call')} only."
    return ""
