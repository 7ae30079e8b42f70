"""What a source of recorded calls gives: the calls, and what it had to leave out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from llmphases.calls import AttributeValue, Call

SpanKey = tuple[str, str]
"""Trace id and span id: what one span is known by."""


class SpanRecord(NamedTuple):
    """A finished span as any backend has it; times in nanoseconds since the epoch.

    A tuple, since there are many: a frozen dataclass takes three times as long to make.
    """

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    start_unix_ns: int
    end_unix_ns: int
    attributes: Mapping[str, AttributeValue]
    status_error: bool = False
    scope: str = ""

    @property
    def key(self) -> SpanKey:
        """What other spans name it by."""
        return self.trace_id, self.span_id

    @property
    def parent_key(self) -> SpanKey | None:
        """The key of its parent; None for a root."""
        return None if self.parent_id is None else (self.trace_id, self.parent_id)


@dataclass(slots=True, kw_only=True)
class Skipped:
    """What was left out of a reading, counted."""

    damaged_lines: int = 0
    """Cut off, or no JSON at all."""
    foreign_lines: int = 0
    """Sound JSON that holds no traces: logs, metrics, anything."""
    damaged_spans: int = 0
    """Spans without ids, times or a meaning that we know."""
    foreign_spans: int = 0
    """Spans of other libraries."""
    incomplete_calls: int = 0
    """Call spans without the numbers of a call, or with numbers that do not add up."""

    def __str__(self) -> str:
        """What was left out, in words; empty if nothing was."""
        counted = (
            (self.damaged_lines, "damaged line", "damaged lines"),
            (self.foreign_lines, "line without traces", "lines without traces"),
            (self.damaged_spans, "damaged span", "damaged spans"),
            (self.incomplete_calls, "incomplete call", "incomplete calls"),
            (self.foreign_spans, "span of another library", "spans of other libraries"),
        )
        return ", ".join(f"{n:,} {one if n == 1 else many}" for n, one, many in counted if n)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The calls of a source, in order of their start."""

    calls: tuple[Call, ...]
    lines: int = 0
    """How many lines (or pages) that were not empty the source held."""
    skipped: Skipped = field(default_factory=Skipped)
    runs: Mapping[str, int] = field(default_factory=dict)
    """The number of the run that each trace is from, in order of the runs' beginnings; without
    the traces of which nobody said."""

    def run_of(self, call: Call) -> int | None:
        """The number of the run that this call is from; None if nobody said."""
        return None if call.trace_id is None else self.runs.get(call.trace_id)

    @property
    def is_foreign(self) -> bool:
        """Whether there was something to read and none of it was a trace or a call."""
        return 0 < self.lines == self.skipped.damaged_lines + self.skipped.foreign_lines


class Source(Protocol):
    """Where recorded calls come from."""

    def read(self) -> Reading:
        """Every call there is. Raises `UnreadableSourceError` if the source cannot be read."""
        ...
