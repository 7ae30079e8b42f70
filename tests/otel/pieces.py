"""Calls, phases and jobs as the recorder would make them, by hand: microseconds from T0."""

from __future__ import annotations

from typing import Any

from llmphases.calls import Call
from llmphases.observers import OpenCall, OpenJob, OpenPhase, OpenSpan
from llmphases.phases import Phase

T0_US = 1_700_000_000_000_000
OFFSET_NS = T0_US * 1000


def open_call(name: str = "place_boxes", at_us: int = 0, **known: Any) -> OpenCall:
    call = OpenCall(name, at_us * 1000, OFFSET_NS, T0_US + at_us)
    for field, value in known.items():
        setattr(call, field, value)
    return call


def open_phase(
    phase: Phase, at_us: int = 0, parent: OpenSpan | None = None, **known: Any
) -> OpenPhase:
    piece = OpenPhase(phase, at_us * 1000, parent, offset_ns=OFFSET_NS)
    for field, value in known.items():
        setattr(piece, field, value)
    return piece


def open_job(name: str = "boxes", workers: int | None = 4) -> OpenJob:
    return OpenJob(name, workers, 0, OFFSET_NS)


def ended(piece: Any, at_us: int) -> Any:
    """The same, drawn up to there."""
    piece.drawn_end_us = T0_US + at_us
    if isinstance(piece, OpenPhase):
        piece.end_ns = at_us * 1000
    return piece


def record_of(call: OpenCall, duration_ns: int = 5_000_000, **known: Any) -> Call:
    known.setdefault("exclusive_ns", {})
    known.setdefault("unattributed_ns", duration_ns - sum(known["exclusive_ns"].values()))
    return Call(
        name=call.name,
        start_unix_ns=call.drawn_start_us * 1000,
        duration_ns=duration_ns,
        **known,
    )
