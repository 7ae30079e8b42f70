"""The table of a group: five costs, and the phases that make them up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from llmphases.analysis.split import Group
from llmphases.analysis.statistics import Statistics
from llmphases.phases import Cost, Phase
from llmphases.reports.contract import Paper
from llmphases.reports.layout import LOOK_OF, Line, Look, bar
from llmphases.reports.meaning import UNATTRIBUTED
from llmphases.reports.wording import duration, percent

LABELS = 23
"""How wide the first column is: the longest phase, indented."""
_TIMES = 12
_SHARES = 8
_COUNTS = 8
_GAP = 2
_ROOM_FOR_GAPS = 45
"""On narrower papers the columns are as narrow as what stands in them: 40 characters in all."""
_LONGEST_BAR = 30
_SHORTEST_BAR = 5
_ROOM_FOR_PERCENTILES = 108
_ROOM_FOR_TOTALS = 66
"""Of two columns of times, narrow papers show the time per call alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    label: str
    times: Statistics
    cost: Cost
    is_part: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """Which columns there are, beside total, per call and share."""

    calls: bool
    totals: bool
    percentiles: bool
    bar: int
    gap: int = _GAP
    labels: int = LABELS
    times: int = _TIMES


_NARROW = _Columns(calls=False, totals=False, percentiles=False, bar=0, gap=1, labels=21, times=10)


def table(group: Group, paper: Paper) -> list[Line]:
    """A heading and a row for each cost and each of its parts; nothing for no calls."""
    if group.duration is None:
        return []
    rows = list(_rows(group))
    columns = _columns(rows, group, paper)
    return [*_headings(columns), *(_line(row, group, columns, paper) for row in rows)]


def _rows(group: Group) -> Iterator[_Row]:
    for cost in Cost:
        parts = {p.value: t for p, t in _in_order(group) if p.cost is cost}
        if cost in group.unattributed:
            parts[UNATTRIBUTED] = group.unattributed[cost]
        yield _Row(label=cost.value, times=group.costs[cost], cost=cost, is_part=False)
        if list(parts) == [cost.value]:
            continue  # generation is all generation, and tool is all tool
        for label, times in parts.items():
            yield _Row(label=f"  {label}", times=times, cost=cost, is_part=True)


def _in_order(group: Group) -> Iterator[tuple[Phase, Statistics]]:
    """Phases in the order in which they happen."""
    return ((phase, group.phases[phase]) for phase in Phase if phase in group.phases)


def _columns(rows: list[_Row], group: Group, paper: Paper) -> _Columns:
    if paper.width < _ROOM_FOR_GAPS:
        return _NARROW
    totals = paper.width >= _ROOM_FOR_TOTALS
    calls = totals and any(row.times.count < group.calls for row in rows)
    percentiles = paper.width >= _ROOM_FOR_PERCENTILES
    taken = _GAP + LABELS + _TIMES + _SHARES + _GAP
    taken += _TIMES * totals + _COUNTS * calls + 2 * _TIMES * percentiles
    room = min(paper.width - taken, _LONGEST_BAR)
    bars = room if room >= _SHORTEST_BAR else 0
    return _Columns(calls=calls, totals=totals, percentiles=percentiles, bar=bars)


def _headings(columns: _Columns) -> Iterator[Line]:
    if columns.percentiles and columns.calls:
        before = _GAP + LABELS + _COUNTS + 2 * _TIMES
        yield [(f"{'':{before}}{'where it occurred':>{2 * _TIMES}}", Look.FAINT)]
    cells = [" " * (columns.gap + columns.labels)]
    if columns.calls:
        cells.append(f"{'calls':>{_COUNTS}}")
    cells += [f"{'total':>{_TIMES}}"] * columns.totals + [f"{'per call':>{columns.times}}"]
    if columns.percentiles:
        cells += [f"{'p50':>{_TIMES}}", f"{'p95':>{_TIMES}}"]
    cells.append(f"{'share':>{_SHARES}}")
    yield [("".join(cells), Look.FAINT)]


def _line(row: _Row, group: Group, columns: _Columns, paper: Paper) -> Line:
    assert group.duration is not None
    times, total = row.times, group.duration.total_ns
    share = times.total_ns / total if total else 0.0
    cells = _cells(row, group, columns, share)
    colour = LOOK_OF[row.cost] if times.total_ns else Look.FAINT
    quiet = Look.FAINT if row.is_part or not times.total_ns else Look.PLAIN
    return [
        (" " * columns.gap, Look.PLAIN),
        (f"{row.label:<{columns.labels}}", quiet if row.is_part else colour),
        (cells, quiet),
        (" " * _GAP if columns.bar else "", Look.PLAIN),
        (bar(share, columns.bar, unicode=paper.unicode), colour),
    ]


def _cells(row: _Row, group: Group, columns: _Columns, share: float) -> str:
    times = row.times
    # Over all calls of the group, so that the parts add up to the whole; the percentiles are over
    # the calls in which the phase occurs.
    shown = [times.total_ns] * columns.totals + [times.total_ns / group.calls]
    if columns.percentiles:
        shown += [times.p50_ns, times.p95_ns]
    cells = [f"{duration(ns) if times.total_ns else '-':>{columns.times}}" for ns in shown]
    if columns.calls:
        cells.insert(0, f"{f'{times.count:,}' if row.is_part else '':>{_COUNTS}}")
    cells.append(f"{percent(share) if times.total_ns else '-':>{_SHARES}}")
    return "".join(cells)
