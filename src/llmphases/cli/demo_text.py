"""What the demonstration tells: the story before it, and what was measured after it."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from llmphases.analysis.split import Group, split
from llmphases.calls import Call
from llmphases.cli.demo_story import (
    FIXED_S,
    MANY_CALLS,
    ONE_CALL,
    ONE_WAVE,
    PER_UNIT_S,
    UNITS,
    WAYS,
    WORKERS,
    Way,
)  # fmt: skip
from llmphases.phases import Cost
from llmphases.reports.as_json import as_document
from llmphases.reports.contract import Paper
from llmphases.reports.gantt import Bars, gantt
from llmphases.reports.layout import Line, Look, paragraph, written
from llmphases.reports.wording import duration, percent

_WIDEST = 80
_TITLES = 24
_COLUMN = 11
_SECOND = 1e9
SERVICE = "llmphases-demo"
"""What its traces are found under."""
ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_JAEGER = "http://localhost:4318"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it."""

    scale: float
    calls: Sequence[Call]
    """As they were read back from the file."""
    file: str
    sent_to: Sequence[str]
    """Where else they went."""

    def bars(self, way: Way) -> Bars:
        """The calls of one way."""
        return Bars(way.title, [call for call in self.calls if call.name == way.name])

    def group(self, way: Way) -> Group:
        """Where their time went."""
        return split(self.bars(way).calls).totals


def opening(scale: float, paper: Paper) -> str:
    """What is about to happen."""
    whole_s = sum(way.expected_s for way in WAYS) / scale
    story = (
        f"{UNITS} segments of a video, and a command-line tool that asks a model where boxes go. A "
        f"call of it takes {FIXED_S:g} s before its answer begins, then {PER_UNIT_S:g} s a "
        f"segment; {WORKERS} may run at once. How many calls are best?"
    )
    here = (
        f"A stand-in tool plays it {scale:g} times as fast, as real child processes: about "
        f"{whole_s:.0f} s in all."
    )
    width = min(paper.width, _WIDEST)
    lines = [*paragraph(story, width, 0), *paragraph(here, width, 0)]
    return written(lines, colour=paper.colour)


def ending(outcome: Outcome, paper: Paper) -> str:
    """What was measured, what it means, and where it is."""
    width = min(paper.width, _WIDEST)
    bars = gantt([outcome.bars(way) for way in WAYS], paper)
    lines = [
        [], *_table(outcome), [], *paragraph(_lesson(outcome), width, 0),
    ]  # fmt: skip
    return f"\n{bars}\n{written(lines, colour=paper.colour)}\n\n{_where(outcome)}"


def _table(outcome: Outcome) -> Iterator[Line]:
    names = ("took", "fixed", "generation", "share", "real case")
    above = f"{'each call pays':>{_TITLES + 3 * _COLUMN}}{'fixed':>{_COLUMN}}"
    yield [(above, Look.FAINT)]
    yield [(" " * _TITLES + "".join(f"{name:>{_COLUMN}}" for name in names), Look.FAINT)]
    for way in WAYS:
        group = outcome.group(way)
        fixed, generation = (group.costs[c].mean_ns for c in (Cost.FIXED, Cost.GENERATION))
        yield [
            (f"{way.title:<{_TITLES}}", Look.PLAIN),
            (f"{duration(outcome.bars(way).duration_ns):>{_COLUMN}}", Look.TITLE),
            (f"{duration(fixed):>{_COLUMN}}", Look.FIXED),
            (f"{duration(generation):>{_COLUMN}}", Look.GENERATION),
            (f"{percent(group.share.fixed) if group.share else '-':>{_COLUMN}}", Look.PLAIN),
            (f"{duration(way.real_s * _SECOND):>{_COLUMN}}", Look.FAINT),
        ]


def _lesson(outcome: Outcome) -> str:
    one, many, wave = (outcome.bars(way).duration_ns for way in (ONE_CALL, MANY_CALLS, ONE_WAVE))
    fixed_ns = outcome.group(MANY_CALLS).costs[Cost.FIXED].mean_ns
    return (
        f"{MANY_CALLS.chunks} calls by {WORKERS} workers are {MANY_CALLS.waves} waves, and each "
        f"wave pays the fixed cost again: {MANY_CALLS.waves} x {duration(fixed_ns)} of "
        f"{duration(many)}. As many calls as workers pay it in one wave: "
        f"{_compared(wave, one)} than one call, {_compared(wave, many)} than "
        f"{MANY_CALLS.chunks}."
    )


def _compared(one_ns: int, other_ns: int) -> str:
    less = 1 - one_ns / other_ns
    return f"{percent(abs(less))} {'less' if less >= 0 else 'more'} time"


def _where(outcome: Outcome) -> str:
    file = shlex.quote(outcome.file)
    own = f"""\
  {outcome.file}
All the numbers:
  llmphases report {file}"""
    if outcome.sent_to:
        return f"""\
The traces of these {len(outcome.calls)} calls went to (look there for the service {SERVICE})
  {" and ".join(outcome.sent_to)}
and into a file of OTLP JSON lines:
{own}"""
    return f"""\
The traces of these {len(outcome.calls)} calls are in a file of OTLP JSON lines:
{own}
In Jaeger (or whatever takes OTLP), either by running this again with
  {ENDPOINT}={_JAEGER} llmphases demo
or by sending the file:
{textwrap.indent(sending(file), "  ")}"""


def sending(file: str, endpoint: str = _JAEGER) -> str:
    """How a shell sends a file of traces, line by line."""
    return f"""\
while IFS= read -r line; do
  printf %s "$line" | curl -sS --data-binary @- \\
    -H 'Content-Type: application/json' {endpoint}/v1/traces
done <{file}"""


def as_json(outcome: Outcome) -> str:
    """The same for programs, with what `report --json` says of all calls."""
    document = {
        "scale": outcome.scale,
        "units": UNITS,
        "ways": [_way(outcome, way) for way in WAYS],
        "file": outcome.file,
        "sent_to": list(outcome.sent_to),
        "report": as_document(split(outcome.calls)),
    }
    return json.dumps(document, indent=2)


def _way(outcome: Outcome, way: Way) -> dict[str, object]:
    group = outcome.group(way)
    costs = {f"{cost.value}_s": group.costs[cost].total_ns / _SECOND for cost in Cost}
    return {
        "name": way.name,
        "title": way.title,
        "calls": group.calls,
        "workers": way.workers,
        "waves": way.waves,
        "took_s": outcome.bars(way).duration_ns / _SECOND,
        **costs,
        "fixed_share": group.share.fixed if group.share else None,
    }
