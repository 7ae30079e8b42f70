"""What Jaeger's pages make of a trace, by the rules of its own views: numbers to compare with ours.

All times are whole microseconds, as Jaeger's pages get them (`/api/traces/{id}`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A span as the timeline draws it."""

    span_id: str
    parent_id: str | None
    name: str
    start_us: int
    end_us: int
    tags: dict[str, Any] = field(default_factory=dict, compare=False)

    def within(self, other: Bar) -> Bar | None:
        """The part of it that lies inside another one, if any does."""
        start_us, end_us = max(self.start_us, other.start_us), min(self.end_us, other.end_us)
        if start_us >= other.end_us or end_us <= other.start_us:
            return None
        return replace(self, start_us=start_us, end_us=end_us)


@dataclass(frozen=True, slots=True)
class Section:
    """A stretch of the critical path, and whose own time it is."""

    bar: Bar
    start_us: int
    end_us: int


def bars_of(trace: dict[str, Any]) -> list[Bar]:
    """The bars of what `/api/traces/{id}` says of one trace."""
    return [
        Bar(
            span_id=span["spanID"],
            parent_id=next(
                (one["spanID"] for one in span["references"] if one["refType"] == "CHILD_OF"), None
            ),
            name=span["operationName"],
            start_us=span["startTime"],
            end_us=span["startTime"] + span["duration"],
            tags={tag["key"]: tag["value"] for tag in span["tags"]},
        )
        for span in trace["spans"]
    ]


def critical_path(bars: Iterable[Bar]) -> list[Section]:
    """The black line: from the end back, always through the child that ends last.

    "Last" is strictly before what follows it begins: one that ends in the very microsecond in which
    its sibling begins is passed over, and its time is said to be its parent's.
    """
    children = _children(bars)
    (root,) = children[None]
    return list(_walked_back(root, children))


def _walked_back(bar: Bar, children: dict[str | None, list[Bar]]) -> Iterator[Section]:
    inside = [part for each in children[bar.span_id] if (part := each.within(bar))]
    inside.sort(key=lambda each: each.end_us, reverse=True)
    moment = bar.end_us
    child = inside[0] if inside else None
    while child is not None:
        if child.end_us < moment:
            yield Section(bar, child.end_us, moment)
        yield from _walked_back(child, children)
        moment = child.start_us
        child = next((each for each in inside if each.end_us < moment), None)
    if bar.start_us < moment:
        yield Section(bar, bar.start_us, moment)


def seconds_by_name(sections: Iterable[Section]) -> dict[str, float]:
    """How much of a critical path is whose, by names of spans."""
    total_us: Counter[str] = Counter()
    for section in sections:
        total_us[section.bar.name] += section.end_us - section.start_us
    return {name: us / 1e6 for name, us in total_us.items()}


def self_seconds_by(tag: str, bars: Iterable[Bar]) -> dict[Any, float]:
    """The column "Self time" of the Statistics page, grouped by a tag; None for spans without it.

    What children cover is not their parent's own, and is taken off once where they overlap.
    """
    bars = list(bars)
    children = _children(bars)
    total_us: Counter[Any] = Counter()
    for bar in bars:
        own_us = bar.end_us - bar.start_us - _covered_us(bar, children[bar.span_id])
        total_us[bar.tags.get(tag)] += own_us
    return {value: us / 1e6 for value, us in total_us.items()}


def _covered_us(bar: Bar, children: Iterable[Bar]) -> int:
    inside = [part for each in children if (part := each.within(bar))]
    covered_us, until_us = 0, bar.start_us
    for each in sorted(inside, key=lambda each: each.start_us):
        covered_us += max(0, each.end_us - max(each.start_us, until_us))
        until_us = max(until_us, each.end_us)
    return covered_us


def _children(bars: Iterable[Bar]) -> dict[str | None, list[Bar]]:
    """By their parent's id; None for those whose parent is not among them."""
    bars = list(bars)
    known = {bar.span_id for bar in bars}
    found: dict[str | None, list[Bar]] = defaultdict(list)
    for bar in bars:
        found[bar.parent_id if bar.parent_id in known else None].append(bar)
    return found
