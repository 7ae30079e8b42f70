"""Jobs as bars over time: a row for each worker, and in it which phase its calls were in when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import ceil, log10

from llmphases.calls import Call, Stretch
from llmphases.phases import Phase
from llmphases.reports.contract import Paper
from llmphases.reports.layout import LOOK_OF, Line, Look, written
from llmphases.reports.wording import count, duration, printable

MARKS: dict[Phase | None, str] = {
    Phase.QUEUE_WAIT: "q",
    Phase.CACHE_LOOKUP: "c",
    Phase.PROMPT_BUILD: "b",
    Phase.RETRIEVAL: "r",
    Phase.PROCESS_STARTUP: "░",
    Phase.RETRY: "!",
    Phase.TIME_TO_FIRST_TOKEN: "▒",
    Phase.GENERATION: "█",
    Phase.INFERENCE: "▓",
    Phase.TRANSMISSION: "t",
    Phase.POST_PROCESSING: "p",
    Phase.TOOL: "T",
    Phase.PROCESS_SHUTDOWN: "x",
    None: "-",
}
"""What a phase looks like where there are no colours; None: a call is in no phase of its own."""
_PLAIN_MARKS = str.maketrans("░▒▓█", ":=%#")
_NO_PHASE = "no phase"
_INDENT = 2
_NARROWEST = 40
_WIDEST = 120
_MOST_ROWS = 16
_BETWEEN_TICKS = 10
_CLOCK_SLACK_NS = 100_000
"""How much two calls of one worker may seem to overlap: each has read the wall clock itself."""


@dataclass(frozen=True, slots=True)
class Bars:
    """Calls that are drawn together, under a title."""

    title: str
    calls: Sequence[Call]

    @property
    def start_unix_ns(self) -> int:
        """When the first call began; for bars with calls."""
        return min(call.start_unix_ns for call in self.calls)

    @property
    def duration_ns(self) -> int:
        """From the first call's start to the last one's end; 0 without calls."""
        if not self.calls:
            return 0
        return max(map(_end_ns, self.calls)) - self.start_unix_ns


@dataclass(frozen=True, slots=True)
class _Cell:
    """What one character of a row shows."""

    call: Call
    phase: Phase | None


_Row = list[_Cell | None]


def gantt(jobs: Sequence[Bars], paper: Paper | None = None, *, per_call: bool = False) -> str:
    """All of them on one scale, each from its own start; then the scale, and what is what.

    A row is as good as a worker: a call stands in the first row that is free when it begins. With
    `per_call` each has a row of its own. Give calls that are not inside one another.
    """
    paper = paper or Paper()
    columns = min(max(paper.width, _NARROWEST), _WIDEST) - _INDENT
    longest_ns = max((job.duration_ns for job in jobs), default=0)
    if not longest_ns:
        return ""
    cell_ns = longest_ns / columns
    lines: list[Line] = []
    seen: set[Phase | None] = set()
    for job in jobs:
        rows = [_cells(job, row, columns, cell_ns) for row in _rows(job.calls, per_call=per_call)]
        seen |= {cell.phase for row in rows for cell in row if cell is not None}
        lines += [_title(job, columns), *map(_line, rows[:_MOST_ROWS])]
        if len(rows) > _MOST_ROWS:
            more = count(len(rows) - _MOST_ROWS, "more row")
            lines.append([(" " * _INDENT + f"and {more}", Look.FAINT)])
    lines += [_scale(longest_ns, columns), *_key(seen, columns)]
    if not paper.unicode:
        lines = [[(text.translate(_PLAIN_MARKS), look) for text, look in line] for line in lines]
    return written(lines, colour=paper.colour)


def _end_ns(call: Call) -> int:
    return call.start_unix_ns + call.duration_ns


# --- which call stands where ---------------------------------------------------------------------
def _rows(calls: Sequence[Call], *, per_call: bool) -> list[list[Call]]:
    rows: list[list[Call]] = []
    for call in sorted(calls, key=lambda call: call.start_unix_ns):
        latest_ns = call.start_unix_ns + _CLOCK_SLACK_NS
        free = (row for row in rows if not per_call and _end_ns(row[-1]) <= latest_ns)
        row = next(free, None)
        if row is None:
            rows.append([call])
        else:
            row.append(call)
    return rows


def _cells(job: Bars, calls: Sequence[Call], columns: int, cell_ns: float) -> _Row:
    """Each cell shows what is in its middle; a call between two middles is seen nevertheless."""
    row: _Row = [None] * columns
    for call in calls:
        after_ns = call.start_unix_ns - job.start_unix_ns
        first = ceil(after_ns / cell_ns - 0.5)
        end = ceil((after_ns + call.duration_ns) / cell_ns - 0.5)
        for column in range(first, min(end, columns)):
            row[column] = _Cell(call, _phase_at(call, (column + 0.5) * cell_ns - after_ns))
        if first >= end:
            column = min(int(after_ns / cell_ns), columns - 1)
            row[column] = row[column] or _Cell(call, _phase_at(call, call.duration_ns / 2))
    return row


def _phase_at(call: Call, at_ns: float) -> Phase | None:
    """The phase that was opened last among those open then."""
    return next((s.phase for s in _newest_first(call) if s.start_ns <= at_ns < s.end_ns), None)


def _newest_first(call: Call) -> Iterator[Stretch]:
    yield from reversed(call.stalls)
    yield from reversed(call.stretches)


# --- what it looks like --------------------------------------------------------------------------
def _title(job: Bars, columns: int) -> Line:
    took = f"  {duration(job.duration_ns)}"
    room = _INDENT + columns - len(took)
    title = printable(job.title)
    if len(title) > room:
        title = f"{title[: room - 3]}..."
    return [(f"{title:<{room}}", Look.TITLE), (took, Look.PLAIN)]


def _line(row: _Row) -> Line:
    """The cells in pieces of one look; a call that ends in what the next begins with is cut off."""
    line: Line = [(" " * _INDENT, Look.PLAIN)]
    before: _Cell | None = None
    marks: list[tuple[str, Look]] = []
    for cell in row:
        if cell is None:
            marks.append((" ", Look.PLAIN))
        elif before is not None and before.call is not cell.call and before.phase is cell.phase:
            marks.append(("|", _look(cell)))
        else:
            marks.append((MARKS[cell.phase], _look(cell)))
        before = cell
    for look, pieces in groupby(marks, key=lambda mark: mark[1]):
        line.append(("".join(mark for mark, _ in pieces), look))
    return line


def _look(cell: _Cell) -> Look:
    cost = cell.call.unattributed_cost if cell.phase is None else cell.phase.cost
    return LOOK_OF[cost]


def _scale(longest_ns: int, columns: int) -> Line:
    """Round times at even distances, each written from its place on."""
    least_s = longest_ns / 1e9 * _BETWEEN_TICKS / columns
    power = 10.0 ** ceil(log10(least_s) - 1)
    step_s = next(n * power for n in (1, 2, 5, 10) if n * power >= least_s)
    text = ""
    for number in range(int(longest_ns / 1e9 / step_s) + 1):
        column = round(number * step_s * 1e9 / longest_ns * columns)
        label = f"{number * step_s:g} s"
        if column + len(label) <= columns:
            text = text.ljust(column) + label
    return [(" " * _INDENT + text, Look.FAINT)]


def _key(seen: set[Phase | None], columns: int) -> Iterator[Line]:
    line: Line = []
    taken = 0
    for phase, mark in MARKS.items():
        if phase not in seen:
            continue
        name = phase.value if phase is not None else _NO_PHASE
        piece = f"{mark} {name}"
        if line and taken + len(piece) > columns:
            yield line
            line, taken = [], 0
        look = LOOK_OF[phase.cost] if phase is not None else Look.PLAIN
        line += [(" " * _INDENT, Look.PLAIN), (mark, look), (f" {name}", Look.FAINT)]
        taken += _INDENT + len(piece)
    yield line
