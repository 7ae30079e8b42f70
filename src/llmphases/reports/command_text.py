"""The times of a command as text: of one run, of several, and of several at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from llmphases.analysis.repeats import Measured, Repeats, Spread, slower
from llmphases.analysis.split import Group, split
from llmphases.reports.command_meaning import command_meaning
from llmphases.reports.command_rows import Row, rows
from llmphases.reports.contract import Paper
from llmphases.reports.layout import LOOK_OF, Line, Look, bar, paragraph, written
from llmphases.reports.wording import count, duration, percent, printable, rate, size, times

_INDENT = 2
_LABEL = 18
_TIME = 10
_SHARE = 9
_SHORT_LABEL, _SHORT_TIME, _RANGE, _FACTOR = 14, 11, 17, 8
"""Of several runs: so that two columns of them fit into 80 characters."""
_ONE_COLUMN = _INDENT + _SHORT_LABEL + _SHORT_TIME + _RANGE
_TWO_COLUMNS = _ONE_COLUMN + _SHORT_TIME + _RANGE + _FACTOR
"""Narrower papers show no ranges, and no factors; the JSON has them."""
_LONGEST_BAR = 30
_NARROWEST = 40
_WIDEST = 100


def command_text(measured: Measured, paper: Paper) -> str:
    """A table and its meaning, without a newline at its end."""
    alone, together = measured.alone, measured.together
    width = min(max(paper.width, _NARROWEST), _WIDEST)
    lines: list[Line] = [*_fitted_title(measured, width), []]
    if alone.runs > 1 or together is not None:
        lines += [*_many(measured, width), []]
    elif alone.duration is not None:
        lines += [*_one(alone, alone.duration, paper), []]
        lines += [*(_fitted(fact, width) for fact in _facts(alone)), []]
    lines += [*paragraph(command_meaning(measured), width, _INDENT)]
    return written(lines, colour=paper.colour)


def _fitted_title(measured: Measured, width: int) -> list[Line]:
    """On narrow papers what is said of the command stands below its name."""
    line = _title(measured)
    if _width_of(line) <= width:
        return [line]
    name, *said = line
    text = "".join(words for words, _ in said).strip()
    return [[name], *paragraph(text, width, _INDENT, said[-1][1])]


def _fitted(fact: Line, width: int) -> Line:
    """Without its remark where there is no room for it."""
    return fact if _width_of(fact) <= width else fact[:-1]


def _width_of(line: Line) -> int:
    return sum(len(words) for words, _ in line)


def _title(measured: Measured) -> Line:
    alone, together = measured.alone, measured.together
    name = (printable(measured.name), Look.TITLE)
    if alone.runs <= 1 and together is None:
        took = duration(alone.duration.median) if alone.duration is not None else "not known"
        code = measured.exit_code
        look = Look.BAD if code else Look.PLAIN
        return [name, (f"   {took}, ", Look.PLAIN), (f"exit {code}", look)]
    told = f"   {count(alone.runs, 'run')} one at a time"
    if together is not None:
        told += f", {together.runs} with {together.workers} at a time"
    failed = alone.failed + (together.failed if together is not None else 0)
    look = Look.BAD if failed else Look.PLAIN
    return [name, (f"{told}, ", Look.PLAIN), (f"{failed or 'none'} failed", look)]


# --- one run --------------------------------------------------------------------------------
def _one(alone: Repeats, whole: Spread, paper: Paper) -> Iterator[Line]:
    room = paper.width - _INDENT - _LABEL - _TIME - _SHARE - _INDENT
    for (row,) in rows(alone):
        time = row.spread.median if row.spread is not None else 0.0
        share = time / whole.median if whole.median else 0.0
        cells = f"{duration(time):>{_TIME}}{percent(share):>{_SHARE}}"
        if row.spread is None:
            cells = f"{'-':>{_TIME}}{'-':>{_SHARE}}"
        drawn = bar(share, min(room, _LONGEST_BAR), unicode=paper.unicode)
        yield [*_label(row), (f"{cells}  ", Look.PLAIN), (drawn, LOOK_OF[row.cost])]


def _label(row: Row) -> Line:
    look = LOOK_OF[row.cost] if row.spread is not None else Look.FAINT
    return [(" " * _INDENT, Look.PLAIN), (f"{row.label:<{_LABEL}}", look)]


def _facts(alone: Repeats) -> Iterator[Line]:
    (group,) = split(alone.calls).groups
    if alone.first_token is not None:
        yield _fact("first token after", duration(alone.first_token.median), "from its start")
    if alone.fixed is not None and alone.generation is not None and alone.share is not None:
        both = f"{duration(alone.fixed.median)} : {duration(alone.generation.median)}"
        yield _fact("fixed : generation", both, f"{percent(alone.share.median)} fixed")
    yield from _said(group)
    if alone.memory_peak is not None:
        yield _fact("peak memory", size(alone.memory_peak.median), "at least")
    if alone.cpu_share is not None:
        yield _fact("CPU", percent(alone.cpu_share.median), "of one core")
    if group.processes is not None and group.processes.survivors:
        left = count(group.processes.survivors, "process", "processes")
        yield _fact("left behind", left, "still running")


def _said(group: Group) -> Iterator[Line]:
    """What the program told of itself."""
    if group.usage is not None:
        usage = group.usage
        told = [
            f"{number:,} {word}"
            for number, word in ((usage.input_tokens, "in"), (usage.output_tokens, "out"))
            if number is not None
        ]
        if told:
            yield _fact("tokens", ", ".join(told))
    if group.tokens_per_second is not None:
        yield _fact("generation rate", rate(group.tokens_per_second))
    if group.retries:
        retries = count(group.retries, "retry", "retries")
        yield _fact("requests", f"{group.requests:,}", f"{retries} in them")


def _fact(label: str, value: str, remark: str = "") -> Line:
    return [
        (f"{' ' * _INDENT}{label:<{_LABEL}}  ", Look.FAINT),
        (value, Look.PLAIN),
        (f"  {remark}" if remark else "", Look.FAINT),
    ]


# --- several runs ---------------------------------------------------------------------------
def _many(measured: Measured, width: int) -> Iterator[Line]:
    alone, together = measured.alone, measured.together
    columns = (alone,) if together is None else (alone, together)
    ranges = width >= (_ONE_COLUMN if together is None else _TWO_COLUMNS)
    factors = ranges and measured.is_comparable
    yield _headings(alone, together, ranges=ranges)
    for cells in rows(*columns):
        look = LOOK_OF[cells[0].cost]
        spreads = [cell.spread for cell in cells]
        yield _row(cells[0].label, look, spreads, duration, ranges=ranges, factors=factors)
    yield []
    for label, of, wording in _SUMS:
        spreads = [of(column) for column in columns]
        if any(spreads):
            yield _row(label, Look.PLAIN, spreads, wording, ranges=ranges, factors=factors)


_Of = Callable[[Repeats], Spread | None]
_SUMS: tuple[tuple[str, _Of, Callable[[float], str]], ...] = (
    ("whole run", lambda runs: runs.duration, duration),
    ("to first token", lambda runs: runs.first_token, duration),
    ("fixed", lambda runs: runs.fixed, duration),
    ("fixed share", lambda runs: runs.share, percent),
    ("peak memory", lambda runs: runs.memory_peak, size),
    ("CPU", lambda runs: runs.cpu_share, percent),
)


def _headings(alone: Repeats, together: Repeats | None, *, ranges: bool) -> Line:
    text = " " * (_INDENT + _SHORT_LABEL)
    heads = ["alone"] if together is None else ["alone", f"{together.workers} at once"]
    between = f"{'least - most':>{_RANGE}}" if ranges else ""
    text += "".join(f"{head:>{_SHORT_TIME}}{between}" for head in heads)
    return [(text, Look.FAINT)]


def _row(
    label: str,
    look: Look,
    spreads: list[Spread | None],
    wording: Callable[[float], str],
    *,
    ranges: bool,
    factors: bool,
) -> Line:
    line: Line = [(" " * _INDENT, Look.PLAIN), (f"{label:<{_SHORT_LABEL}}", look)]
    for one in spreads:
        time, look_of_time = ("-", Look.FAINT) if one is None else (wording(one.median), Look.PLAIN)
        line.append((f"{time:>{_SHORT_TIME}}", look_of_time))
        if ranges:
            text = "" if one is None else _between(wording(one.least), wording(one.most))
            line.append((f"{text:>{_RANGE}}", Look.FAINT))
    if wording is duration and factors:
        factor = slower(*spreads)
        told = "" if factor is None else f"{times(factor)} x"
        line.append((f"{told:>{_FACTOR}}", Look.PLAIN))
    return line


def _between(least: str, most: str) -> str:
    """`1.90 - 2.10 s`: the unit once, if it is the same."""
    number, _, unit = least.rpartition(" ")
    return f"{number if most.endswith(f' {unit}') else least} - {most}"
