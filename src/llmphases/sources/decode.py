"""Spans back into calls: the inverse of how calls are written as spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from llmphases.calls import Call, Detail, Stretch
from llmphases.conventions import (
    CALL_NAME,
    COST,
    DETAIL,
    JOB_NAME,
    ORIGIN,
    PHASE,
    REQUEST_INDEX,
    STALL,
)
from llmphases.phases import Cost, Origin, Phase
from llmphases.records import assembler
from llmphases.sources.call_attributes import call_of
from llmphases.sources.contract import SpanKey, SpanRecord

Parents = Mapping[SpanKey, SpanKey | None]
"""Which span is whose child, for spans that are not ours and stand between ours."""

Piece = TypeVar("Piece", Stretch, Detail)

_stretch, _detail = assembler(Stretch), assembler(Detail)

# Looked up once for each span: a dictionary answers in a tenth of an enumeration's time.
_PHASES: dict[object, Phase] = {phase.value: phase for phase in Phase}
_ORIGINS: dict[object, Origin] = {origin.value: origin for origin in Origin}

_UNREADABLE = (KeyError, TypeError, ValueError, OverflowError)


@dataclass(slots=True, kw_only=True)
class Decoded:
    """The calls that spans tell of, in order of their start."""

    calls: list[Call] = field(default_factory=list)
    incomplete_calls: int = 0
    damaged_spans: int = 0


@dataclass(slots=True)
class _Pieces:
    """What belongs to one call, with the depth of each piece: outer ones come first."""

    stretches: list[tuple[int, Stretch]] = field(default_factory=list)
    stalls: list[tuple[int, Stretch]] = field(default_factory=list)
    details: list[tuple[int, Detail]] = field(default_factory=list)


def decode(spans: Mapping[SpanKey, SpanRecord], parents: Parents) -> Decoded:
    """The calls in these spans.

    A call whose span lacks numbers is counted and left out; a phase that we cannot read is
    counted and missing in its call's stretches, not in its sums.
    """
    decoded = Decoded()
    pieces = _pieces_by_call(spans, parents, decoded)
    for key, span in spans.items():
        if not _is_call(span):
            continue
        its = pieces.get(key, _Pieces())
        try:
            call = call_of(
                span,
                stretches=_in_order(its.stretches),
                stalls=_in_order(its.stalls),
                details=_in_order(its.details),
            )
        except _UNREADABLE:
            decoded.incomplete_calls += 1
        else:
            decoded.calls.append(call)
    decoded.calls.sort(key=lambda call: call.start_unix_ns)
    return decoded


def _is_call(span: SpanRecord) -> bool:
    return CALL_NAME in span.attributes and PHASE not in span.attributes


def _is_job(span: SpanRecord) -> bool:
    said = span.attributes
    return JOB_NAME in said and CALL_NAME not in said and PHASE not in said


def _pieces_by_call(
    spans: Mapping[SpanKey, SpanRecord], parents: Parents, decoded: Decoded
) -> dict[SpanKey, _Pieces]:
    kin = _Kin(spans, parents)
    found: dict[SpanKey, _Pieces] = {}
    for span in spans.values():
        if not (PHASE in span.attributes or DETAIL in span.attributes):
            continue
        owner, depth = kin.call_of_piece(span)
        if owner is None:
            continue
        try:
            _add(found.setdefault(owner, _Pieces()), span, depth, spans[owner].start_unix_ns)
        except _UNREADABLE:
            decoded.damaged_spans += 1
    return found


class _Kin:
    """Finds the call that a span belongs to, whatever stands between."""

    def __init__(self, spans: Mapping[SpanKey, SpanRecord], parents: Parents) -> None:
        self._spans = spans
        self._parents = parents
        self._known: dict[SpanKey, tuple[SpanKey | None, int]] = {}

    def call_of_piece(self, span: SpanRecord) -> tuple[SpanKey | None, int]:
        """The innermost call around a phase, and how far up it is; None if there is none.

        A wait for a worker stands before its call, under the job: it is no call's phase.
        """
        owner, depth = self._nearest(span.parent_key)
        while owner is not None and _is_job(self._spans[owner]):
            if span.attributes.get(PHASE) == Phase.QUEUE_WAIT:
                return None, depth
            owner, further = self._nearest(self._spans[owner].parent_key)
            depth += further
        return owner, depth

    def _nearest(self, key: SpanKey | None) -> tuple[SpanKey | None, int]:
        """The first call or job from here upwards."""
        path: list[SpanKey] = []
        found: SpanKey | None = None
        depth = 0
        while key is not None:
            if key in self._known:
                found, depth = self._known[key]
                break
            self._known[key] = (None, 0)  # spans that are each other's parents end here
            path.append(key)
            span = self._spans.get(key)
            if span is not None and (_is_call(span) or _is_job(span)):
                found = key
                break
            key = span.parent_key if span is not None else self._parents.get(key)
        for passed in reversed(path):
            depth += 1
            self._known[passed] = (found, depth)
        return found, depth


def _add(pieces: _Pieces, span: SpanRecord, depth: int, call_start_ns: int) -> None:
    start_ns = span.start_unix_ns - call_start_ns
    end_ns = span.end_unix_ns - call_start_ns
    drawn = (span.start_unix_ns // 1000, span.end_unix_ns // 1000)
    attributes = span.attributes
    if attributes.get(DETAIL):
        cost = Cost(str(attributes[COST]))
        detail = _detail(name=span.name, cost=cost, start_ns=start_ns, end_ns=end_ns, drawn=drawn)
        pieces.details.append((depth, detail))
        return
    request = attributes.get(REQUEST_INDEX)
    stretch = _stretch(
        phase=_PHASES[attributes[PHASE]],
        start_ns=start_ns,
        end_ns=end_ns,
        request=request if isinstance(request, int) else None,
        origin=_ORIGINS[attributes.get(ORIGIN, Origin.MEASURED)],
        drawn=drawn,
    )
    (pieces.stalls if attributes.get(STALL) else pieces.stretches).append((depth, stretch))


def _in_order(pieces: Sequence[tuple[int, Piece]]) -> tuple[Piece, ...]:
    if not pieces:
        return ()
    in_order = sorted(pieces, key=lambda p: (p[1].start_ns, p[1].end_ns, p[0]))
    return tuple(piece for _, piece in in_order)
