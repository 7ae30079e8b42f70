"""What other instrumentations write on the span of an LLM call: a table, and how it is read.

A row goes by what is on a span, not by who wrote it: names of scopes change with every release,
and several packages write the same attributes. Nearly all stamp the first *chunk*, of any kind.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

from llmphases import conventions as names


class ForeignSpan(Protocol):
    """What is read of a span of the SDK."""

    @property
    def name(self) -> str: ...
    @property
    def attributes(self) -> Mapping[str, Any] | None: ...
    @property
    def events(self) -> Sequence[Any]: ...
    @property
    def dropped_events(self) -> int: ...
    @property
    def start_time(self) -> int | None: ...
    @property
    def end_time(self) -> int | None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """When output came, in nanoseconds since the epoch."""

    first_ns: int
    last_ns: int
    """The last chunk; the end of the span where nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """One way to write down when the first output came."""

    name: str
    output: Callable[[ForeignSpan], Output | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a span says of its output."""

    dialect: str | None = None
    """The row that told it; None: nothing on the span tells."""
    output: Output | None = None
    distrusted: Mapping[str, float] = field(default_factory=dict)
    """Times that are there, and are not what they are called."""


INFERENCE: Final = frozenset({"chat", "generate_content", "text_completion"})
"""The operations of the GenAI conventions that generate something."""

_KINDS: Final = {
    "openinference.span.kind": "LLM",
    "langfuse.observation.type": "generation",
    "langsmith.span.kind": "llm",
}
"""How a span is known as an inference that the conventions do not name."""
_WITHOUT_METRICS: Final = frozenset({"com.anthropic.sdk.python", "langsmith"})
"""Scopes that write `gen_ai.*` attributes, and no metrics."""

_FIRST_TOKEN_EVENT: Final = "First Token Stream Event"
_COMPLETION_START: Final = "langfuse.observation.completion_start_time"
_NEW_TOKEN_EVENT: Final = "new_token"
_RAW: Final = "time_to_first_chunk"
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def is_inference(attributes: Mapping[str, Any] | None) -> bool:
    """Whether a span with these attributes stands for one request to a model."""
    if not attributes:
        return False
    if attributes.get(names.OPERATION_NAME) in INFERENCE:
        return True
    return any(attributes.get(key) == kind for key, kind in _KINDS.items())


def has_metrics(scope: str, attributes: Mapping[str, Any] | None) -> bool:
    """Whether whoever wrote such a span counts its call in `gen_ai.*` metrics as well."""
    if not attributes or attributes.get(names.OPERATION_NAME) not in INFERENCE:
        return False
    return scope not in _WITHOUT_METRICS


def told(span: ForeignSpan) -> Told:
    """What a finished span says of its output; impossible times are distrusted."""
    for dialect in DIALECTS:
        output = dialect.output(span)
        if output is not None:
            fitting = _fitted(span, output)
            if fitting is not None:
                return Told(dialect=dialect.name, output=fitting)
            late_s = (output.first_ns - (span.start_time or 0)) / 1e9
            return Told(dialect=dialect.name, distrusted={_RAW: late_s})
    found = {raw: _seconds(span, key) for key, raw in names.DISTRUSTED_TIMES.items()}
    distrusted = {raw: seconds for raw, seconds in found.items() if seconds is not None}
    return Told(distrusted=distrusted)


def _fitted(span: ForeignSpan, output: Output) -> Output | None:
    """The times, inside their span; None if they are not. A little over its end is at its end.

    Some count from a moment of their own before the span began.
    """
    start_ns, end_ns = span.start_time, span.end_time
    if start_ns is None or end_ns is None or not start_ns < output.first_ns <= output.last_ns:
        return None
    if (output.first_ns - start_ns) * 100 > (end_ns - start_ns) * 105:
        return None
    return Output(first_ns=min(output.first_ns, end_ns), last_ns=min(output.last_ns, end_ns))


def _seconds(span: ForeignSpan, key: str) -> float | None:
    value = (span.attributes or {}).get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def _until_end(span: ForeignSpan, first_ns: int) -> Output:
    return Output(first_ns=first_ns, last_ns=max(first_ns, span.end_time or 0))


def _by_conventions(span: ForeignSpan) -> Output | None:
    late_s = _seconds(span, names.TIME_TO_FIRST_CHUNK)
    if late_s is None or span.start_time is None:
        return None
    return _until_end(span, span.start_time + round(late_s * 1e9))


def _events(span: ForeignSpan, named: Container[str]) -> list[int]:
    """When such events happened. The SDK keeps 128 of a span, and drops the *first* ones."""
    if span.dropped_events:
        return []
    return [int(event.timestamp) for event in span.events if event.name in named]


def _by_first_event(name: str) -> Callable[[ForeignSpan], Output | None]:
    def output(span: ForeignSpan) -> Output | None:
        at_ns = _events(span, (name,))
        return _until_end(span, at_ns[0]) if at_ns else None

    return output


def _by_chunk_events(span: ForeignSpan) -> Output | None:
    at_ns = _events(span, names.CHUNK_EVENTS)
    return Output(first_ns=at_ns[0], last_ns=at_ns[-1]) if at_ns else None


def _by_completion_start(span: ForeignSpan) -> Output | None:
    """A time of day as ISO text, in the quotes of JSON."""
    value = (span.attributes or {}).get(_COMPLETION_START)
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value.strip('"'))
    except ValueError:
        return None
    if at.tzinfo is None:
        return None
    return _until_end(span, (at - _EPOCH) // timedelta(microseconds=1) * 1000)


DIALECTS: Final = (
    Dialect(name="conventions", output=_by_conventions),
    Dialect(name="openinference", output=_by_first_event(_FIRST_TOKEN_EVENT)),
    Dialect(name="openllmetry", output=_by_chunk_events),
    Dialect(name="langfuse", output=_by_completion_start),
    Dialect(name="langsmith", output=_by_first_event(_NEW_TOKEN_EVENT)),
)
"""In the order they are asked; the first that knows anything counts."""
