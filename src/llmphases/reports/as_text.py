"""The split as text for a terminal or a file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llmphases.analysis.split import Group, Processes, Split
from llmphases.analysis.statistics import Statistics
from llmphases.reports.contract import Paper
from llmphases.reports.layout import Line, Look, paragraph, written
from llmphases.reports.meaning import meaning
from llmphases.reports.table import LABELS, table
from llmphases.reports.wording import count, duration, percent, printable, rate, size

_NARROWEST = 40
_WIDEST = 120
_INDENT = 2


def as_text(split: Split, paper: Paper | None = None) -> str:
    """A table and a sentence for each call name, then a table of all calls if names are several.

    The words are the same with and without colours, and with and without `rich`.
    """
    paper = paper or Paper()
    lines: list[Line] = [*_origin(split, paper)]
    for group in split.groups:
        lines += [*_block(group, paper), [], *_sentence(group, paper), []]
    if len(split.groups) > 1:
        lines += [*_block(split.totals, paper), []]
    return written(lines[:-1], colour=paper.colour)


def _origin(split: Split, paper: Paper) -> Iterator[Line]:
    """Whether what follows mixes what may differ: a file is appended to."""
    if split.runs is not None and split.runs > 1:
        text = (
            f"{count(split.calls, 'call')} from {split.runs:,} runs (--last-run: the newest only)"
        )
        yield from (*paragraph(text, max(paper.width, _NARROWEST), 0), [])


def _block(group: Group, paper: Paper) -> list[Line]:
    about = (_title(group), *_facts(group))
    return [*(line for one in about for line in _fitted(one, paper)), [], *table(group, paper)]


def _fitted(line: Line, paper: Paper) -> list[Line]:
    """Narrow papers have what is said of something below it."""
    text = "".join(words for words, _ in line)
    if len(text.rstrip()) <= paper.width:
        return [line]
    about, *said = line
    text = "".join(words for words, _ in said).strip()
    look = Look.BAD if any(look is Look.BAD for _, look in said) else Look.PLAIN
    return [[about], *paragraph(text, max(paper.width, _NARROWEST), 2 * _INDENT, look)]


def _title(group: Group) -> Line:
    name = "all outermost calls" if group.name is None else printable(group.name)
    about = count(group.calls, "call")
    if group.nested:
        about += f" ({group.nested:,} inside other calls)"
    line = [(name, Look.TITLE), (f"   {about}, ", Look.PLAIN)]
    if not group.errors:
        return [*line, ("no errors", Look.PLAIN)]
    types = ", ".join(printable(name) for name in group.error_types)
    return [*line, (f"{count(group.errors, 'error')} ({types})", Look.BAD)]


def _facts(group: Group) -> Iterator[Line]:
    yield _fact("duration", *_percentiles(group.duration, group.calls))
    yield _fact("time to first token", *_first_token(group))
    if group.tokens_per_second is not None:
        yield _fact("generation rate", rate(group.tokens_per_second), "median")
    if group.retries:
        yield _fact(
            "requests", f"{group.requests:,}", f"{count(group.retries, 'retry', 'retries')} in them"
        )
    if group.queued is not None:
        yield _fact("wait for a worker", *_percentiles(group.queued, group.calls))
    if group.processes is not None:
        yield from _processes(group.processes, group.calls)


def _processes(used: Processes, calls: int) -> Iterator[Line]:
    among = "" if used.calls >= calls else f"in {used.calls:,} of {calls:,} calls"
    if used.memory_p50 is not None and used.memory_max is not None:
        peaks = f"p50 {size(used.memory_p50):<12}max {size(used.memory_max):<12}"
        yield _fact("memory of its process", peaks, among)
    if used.cpu_share is not None:
        yield _fact("CPU of its process", percent(used.cpu_share), "of one core")
    if used.survivors:
        yield _fact("left behind", count(used.survivors, "process", "processes"))


def _first_token(group: Group) -> tuple[str, str]:
    if group.time_to_first_token is None and group.first_tokens_inside:
        return "in inner calls", ""
    return _percentiles(group.time_to_first_token, group.calls)


def _percentiles(times: Statistics | None, calls: int) -> tuple[str, str]:
    """The two percentiles, and over how many calls, if not over all."""
    if times is None:
        return "not seen", ""
    text = f"p50 {duration(times.p50_ns):<12}p95 {duration(times.p95_ns):<12}"
    return text, "" if times.count == calls else f"in {times.count:,} of {calls:,} calls"


def _fact(label: str, value: str, remark: str = "") -> Line:
    return [
        (" " * _INDENT + f"{label:<{LABELS}}", Look.FAINT),
        (value, Look.PLAIN),
        (f"  {remark}" if remark else "", Look.FAINT),
    ]


def _sentence(group: Group, paper: Paper) -> Sequence[Line]:
    width = min(max(paper.width, _NARROWEST), _WIDEST)
    return paragraph(meaning(group), width, _INDENT)
