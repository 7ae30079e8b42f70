"""A plan as text: what some ways to split would take, and which is best."""

from __future__ import annotations

from collections.abc import Iterator

from llmphases.analysis.fit import Interval
from llmphases.analysis.plan import Option, Plan
from llmphases.analysis.plan_costs import Costs
from llmphases.reports.contract import Paper
from llmphases.reports.layout import Line, Look, bar, paragraph, written
from llmphases.reports.plan_meaning import plan_meaning
from llmphases.reports.wording import count, duration

_INDENT = 2
_CHUNKS, _WAVES, _LARGEST, _TIME, _MARK = 8, 8, 16, 13, 8
_LONGEST_BAR = 30
_SHORTEST_BAR = 5
_NARROWEST = 40
_WIDEST = 100


def plan_text(plan: Plan, paper: Paper, costs: Costs | None = None) -> str:
    """A table and its meaning, without a newline at its end; `costs` if they were recorded."""
    width = min(max(paper.width, _NARROWEST), _WIDEST)
    lines: list[Line] = [*_title(plan, width), *_origin(costs, width), []]
    if plan.options:
        lines += [*_table(plan, paper), []]
    lines += paragraph(plan_meaning(plan), width, _INDENT)
    if costs is not None and costs.calls == 1:
        lines += paragraph("This rests on 1 call only.", width, _INDENT)
    return written(lines, colour=paper.colour)


def shown(plan: Plan) -> list[Option]:
    """The options that a person wants to see: the ends, the best and what is near, doublings."""
    assert plan.recommended is not None
    best = plan.recommended.chunks
    wanted = {best - 1, best, best + 1, best * 2, best * 4, best * 10}
    wanted |= {plan.options[0].chunks, plan.options[-1].chunks}
    options = {option.chunks: option for option in plan.options if option.chunks in wanted}
    if plan.today is not None:
        options.setdefault(plan.today.chunks, plan.today)
    return [options[chunks] for chunks in sorted(options)]


def _title(plan: Plan, width: int) -> list[Line]:
    work = plan.work
    about = f"{count(work.units, 'unit')} on {count(work.workers, 'worker')}"
    paid = f"{duration(work.fixed_ns)} a call + {duration(work.per_unit_ns)} a unit"
    if len(about) + 3 + len(paid) <= width:
        return [[(about, Look.TITLE), (f"   {paid}", Look.PLAIN)]]
    return [[(about, Look.TITLE)], *paragraph(paid, width, _INDENT)]


def _origin(costs: Costs | None, width: int) -> Iterator[Line]:
    if costs is None:
        return
    told = f"from {count(costs.calls, 'call')}, "
    if costs.fit is None:
        told += "whose generation was seen" if costs.calls == 1 else "the median of what was seen"
    else:
        fixed, per_unit = _range(costs.fit.fixed_interval), _range(costs.fit.per_unit_interval)
        told += (
            f"by a line through how long they took: {fixed} a call and {per_unit} a unit hold "
            f"both in 95 % of cases"
        )
    yield from paragraph(told, width, _INDENT, Look.FAINT)


def _range(interval: Interval) -> str:
    return f"{duration(interval.low)} to {duration(interval.high)}"


def _table(plan: Plan, paper: Paper) -> Iterator[Line]:
    options = shown(plan)
    longest = max(option.predicted_ns for option in options)
    is_wide = paper.width >= _CHUNKS + _WAVES + _LARGEST + _TIME + _MARK
    heading = f"{'chunks':>{_CHUNKS}}{'waves':>{_WAVES}}"
    heading += f"{'units in each':>{_LARGEST}}" * is_wide + f"{'predicted':>{_TIME}}"
    yield [(heading, Look.FAINT)]
    room = min(paper.width - len(heading) - _MARK - _INDENT, _LONGEST_BAR)
    for option in options:
        cells = f"{option.chunks:>{_CHUNKS},}{option.waves:>{_WAVES},}"
        cells += f"{_sizes(option, plan.work.units):>{_LARGEST}}" * is_wide
        cells += f"{duration(option.predicted_ns):>{_TIME}}"
        is_best = option == plan.recommended
        mark = _mark(plan, option)
        drawn = ""
        if room >= _SHORTEST_BAR and longest:
            drawn = bar(option.predicted_ns / longest, room, unicode=paper.unicode)
        look = Look.GENERATION if is_best else Look.PLAIN
        yield [(cells, look), (f"  {mark:<{_MARK}}", Look.TITLE if is_best else Look.FAINT),
               (drawn, look)]  # fmt: skip


def _mark(plan: Plan, option: Option) -> str:
    if option == plan.recommended:
        return "best"
    return "today" if option == plan.today else ""


def _sizes(option: Option, units: int) -> str:
    smallest = units // option.chunks
    if smallest == option.largest:
        return f"{option.largest:,}"
    both = f"{smallest:,} or {option.largest:,}"
    return both if len(both) < _LARGEST else f"up to {option.largest:,}"
