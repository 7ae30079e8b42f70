"""What happened in one LLM call: frozen records, in whole nanoseconds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from operator import attrgetter
from typing import Any, TypeVar

from llmphases.errors import RecordError
from llmphases.phases import Cost, Origin, Phase
from llmphases.records import plain, record

Scalar = str | bool | int | float
AttributeValue = Scalar | tuple[str, ...] | tuple[bool, ...] | tuple[int, ...] | tuple[float, ...]


class Ended(StrEnum):
    """How a stream (or, for `interrupted` and `exit`, any call) came to its end."""

    EXHAUSTED = "exhausted"
    CLOSED = "closed"
    ERROR = "error"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"
    DROPPED = "dropped"
    EXIT = "exit"
    UNOBSERVED = "unobserved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """One interval of one phase, in nanoseconds from the start of its call."""

    phase: Phase
    start_ns: int
    end_ns: int
    request: int | None = None
    """Which request it belongs to, counted from 0; None for blocks and processes."""
    origin: Origin = Origin.MEASURED
    drawn: tuple[int, int] | None = field(default=None, compare=False)
    """Start and end of its span, in microseconds since the epoch; None if it has no span."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """A named piece inside a phase, in nanoseconds from the start of its call. Never added up."""

    name: str
    cost: Cost
    start_ns: int
    end_ns: int
    drawn: tuple[int, int] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens as the GenAI conventions count them: input includes cached, output includes reasoning.

    None where nobody said.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_input_tokens: int | None = None
    cache_write_input_tokens: int | None = None
    reasoning_output_tokens: int | None = None

    def __add__(self, other: Usage) -> Usage:
        """The usage of two requests together; unknown plus known is known."""
        sums = map(_sum_of_known, _counts_of(self), _counts_of(other))
        return Usage(**dict(zip(_COUNTS, sums, strict=True)))

    def __bool__(self) -> bool:
        """Whether anything is known at all."""
        return _counts_of(self).count(None) < len(_COUNTS)


_COUNTS = tuple(f.name for f in fields(Usage))
_counts_of = attrgetter(*_COUNTS)


def _sum_of_known(a: int | None, b: int | None) -> int | None:
    if a is None:
        return b
    return a if b is None else a + b


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessUse:
    """What a child process and all its descendants have used; None where it is not known."""

    executable: str | None = None
    """The name of the program, without its folder."""
    pid: int | None = None
    exit_code: int | None = None
    """Negative for the signal that ended it."""
    wall_ns: int | None = None
    """From its spawn to its exit."""
    cpu_ns: int | None = None
    memory_peak: int | None = None
    """Resident bytes of all of them together, at least: a peak between two looks is not seen."""
    survivors: int | None = None
    """Descendants that were seen, and still ran when the child had ended."""

    @property
    def cpu_share(self) -> float | None:
        """CPU time by wall time; over 1 where several cores were busy."""
        return self.cpu_ns / self.wall_ns if self.cpu_ns is not None and self.wall_ns else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One LLM operation as its caller saw it.

    Times are whole nanoseconds; those that are moments count from the start of the call. What was
    neither measured nor said is None. ``sum(exclusive_ns.values()) + unattributed_ns`` is
    ``duration_ns``, exactly, and so is the sum of the five costs.
    """

    name: str
    start_unix_ns: int
    duration_ns: int
    exclusive_ns: Mapping[Phase, int]
    """The time that belongs to each phase that occurred; no instant counts twice."""
    unattributed_ns: int = 0
    """The time that no phase covers."""
    unattributed_cost: Cost = Cost.UNSPLIT
    """`fixed` if any request, token, child process or cache hit was seen, else `unsplit`."""
    stretches: tuple[Stretch, ...] = ()
    """Every interval of a phase of this very call, in order of their start."""
    stalls: tuple[Stretch, ...] = ()
    """The longest waits of a stream for its consumer; all of them are in `exclusive_ns`."""
    details: tuple[Detail, ...] = ()
    operation: str = "chat"
    provider: str | None = None
    request_model: str | None = None
    response_model: str | None = None
    stream: bool = False
    usage: Usage | None = None
    requests: int = 0
    retries: int = 0
    chunks: int | None = None
    """Items that came out of a stream, of any kind; None for calls without one."""
    first_chunk_ns: int | None = None
    """From the first request's issue to its first chunk of any kind."""
    first_token_ns: int | None = None
    """From the call's start to the first token, reasoning included: what a person waits."""
    first_reasoning_ns: int | None = None
    first_answer_ns: int | None = None
    first_token_rule: str | None = None
    """What decided when a child process was ready."""
    units: int | None = None
    """Work items in this call, as the program said."""
    batch_size: int | None = None
    cache_result: str | None = None
    """`hit` or `miss`."""
    queued_ns: int | None = None
    """Wait for a worker before the call; not part of its duration."""
    nested: bool = False
    """Whether it ran inside another traced call."""
    job: str | None = None
    ended: Ended | None = None
    error_type: str | None = None
    reported: Mapping[str, Scalar] = field(default_factory=dict)
    """What a server or tool said about its own times, under the vendor's names."""
    reported_trusted: bool | None = None
    """Whether that fitted the measured window; None if nothing was said."""
    process: ProcessUse | None = None
    """What its child process used; None without one, and with several."""
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    """What the program set itself."""
    outside_inner_ns: Mapping[Phase, int] = field(default_factory=dict, compare=False)
    """`exclusive_ns` without what calls inside this one cover, so that totals count once."""
    trace_id: str | None = field(default=None, compare=False)
    span_id: str | None = field(default=None, compare=False)

    def cost_ns(self, cost: Cost) -> int:
        """The time paid in one bucket."""
        total = sum(ns for phase, ns in self.exclusive_ns.items() if phase.cost is cost)
        return total + self.unattributed_ns if cost is self.unattributed_cost else total

    @property
    def fixed_share(self) -> float | None:
        """fixed / (fixed + generation), 0 to 1; None where the two cannot be told apart."""
        fixed, generation = self.cost_ns(Cost.FIXED), self.cost_ns(Cost.GENERATION)
        if self.cost_ns(Cost.UNSPLIT) > 0 or fixed + generation == 0:
            return None
        return fixed / (fixed + generation)

    @property
    def tokens_per_second(self) -> float | None:
        """Tokens after the first of each request over first-to-last-token time.

        None without usage, without a generation phase, where some request has none (nobody says
        which tokens are whose), or where consumers took more than a tenth of that time (then the
        rate would be theirs).
        """
        spans = [s for s in self.stretches if s.phase is Phase.GENERATION]
        wall = sum(s.end_ns - s.start_ns for s in spans)
        if not wall or self.usage is None or self.usage.output_tokens is None:
            return None
        if any(s.phase is Phase.INFERENCE for s in self.stretches):
            return None
        taken = _covered(spans) - self.exclusive_ns.get(Phase.GENERATION, 0)
        if min(taken, self.cost_ns(Cost.DELIVERY)) * 10 > wall:
            return None
        tokens = self.usage.output_tokens - len(spans)
        return tokens * 1e9 / wall if tokens > 0 else None

    def as_exported(self) -> Call:
        """This call as its spans tell it: sums as they are, extents as they are drawn.

        A call read back from a trace is equal to this. Where no time is unattributed, spans do not
        tell what it would have counted as.
        """
        start_us = self.start_unix_ns // 1000
        return replace(
            self,
            start_unix_ns=start_us * 1000,
            unattributed_cost=self.unattributed_cost if self.unattributed_ns else Cost.UNSPLIT,
            stretches=_as_drawn(self.stretches, start_us),
            stalls=_as_drawn(self.stalls, start_us),
            details=_as_drawn(self.details, start_us),
        )

    def to_json(self) -> str:
        """One line of JSON, from which `from_json` makes an equal call."""
        return json.dumps(plain(self), separators=(",", ":"))

    @staticmethod
    def from_json(text: str | bytes) -> Call:
        """The call that `to_json` wrote; unknown fields are ignored.

        Raises `RecordError` for anything else.
        """
        try:
            return _call_of(json.loads(text))
        except (ValueError, TypeError, AttributeError, RecursionError) as error:
            given = repr(text)[:80]
            message = f"not a call: {given} ({error}); expected what Call.to_json() wrote"
            raise RecordError(message) from error


def _covered(stretches: list[Stretch]) -> int:
    """The time that at least one of them covers."""
    total = reach = 0
    for stretch in sorted(stretches, key=lambda s: s.start_ns):
        total += max(0, stretch.end_ns - max(reach, stretch.start_ns))
        reach = max(reach, stretch.end_ns)
    return total


_Piece = TypeVar("_Piece", Stretch, Detail)


def _as_drawn(pieces: tuple[_Piece, ...], start_us: int) -> tuple[_Piece, ...]:
    drawn = [
        replace(p, start_ns=(p.drawn[0] - start_us) * 1000, end_ns=(p.drawn[1] - start_us) * 1000)
        for p in pieces
        if p.drawn is not None
    ]
    return tuple(sorted(drawn, key=lambda p: (p.start_ns, p.end_ns)))


def _stretch_of(raw: dict[str, Any]) -> Stretch:
    return record(Stretch, raw, phase=Phase, origin=Origin, drawn=tuple)  # type: ignore[no-any-return]  # built from fields


def _detail_of(raw: dict[str, Any]) -> Detail:
    return record(Detail, raw, cost=Cost, drawn=tuple)  # type: ignore[no-any-return]  # built from fields


def _phase_times(raw: dict[str, int]) -> dict[Phase, int]:
    if any(type(ns) is not int for ns in raw.values()):
        raise TypeError(f"{raw!r} are no times in whole nanoseconds")
    return {Phase(name): ns for name, ns in raw.items()}


def _attributes_of(raw: dict[str, Any]) -> dict[str, AttributeValue]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in raw.items()}


def _call_of(raw: dict[str, Any]) -> Call:
    return record(  # type: ignore[no-any-return]  # built from fields
        Call,
        raw,
        exclusive_ns=_phase_times,
        outside_inner_ns=_phase_times,
        unattributed_cost=Cost,
        stretches=lambda many: tuple(map(_stretch_of, many)),
        stalls=lambda many: tuple(map(_stretch_of, many)),
        details=lambda many: tuple(map(_detail_of, many)),
        usage=lambda usage: record(Usage, usage),
        process=lambda process: record(ProcessUse, process),
        ended=Ended,
        attributes=_attributes_of,
    )
