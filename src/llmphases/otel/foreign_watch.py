"""Notes what other instrumentations tell of a call of ours, so that nothing is told twice.

A backend that finds the tokens of one request on two spans counts (and bills) them twice.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from opentelemetry import context as otel_context

from llmphases.conventions import SCOPE
from llmphases.observers import Frame, OpenCall, never_raises
from llmphases.otel.carrier import frame_of, span_in
from llmphases.otel.foreign_dialects import has_metrics, is_inference

_MOST_SPANS: Final = 64
"""How many are kept of one call: it needs one to know that somebody else tells of it."""
_MOST_NAMES: Final = 1000


@dataclass(frozen=True, slots=True)
class ToldElsewhere:
    """What others tell of a call."""

    usage: bool = False
    """There is a span of theirs for a request of it: tokens stand there."""
    metrics: bool = False
    """And they count it in `gen_ai.*` metrics."""


_NOTHING: Final = ToldElsewhere()

_last: dict[str, ToldElsewhere] = {}
"""What was told of the last sampled call of a name: spans of the others are not even made."""


@never_raises
def note_start(span: Any, parent_context: Any = None) -> None:
    """A span begins, maybe inside a call of ours."""
    if span.instrumentation_scope.name == SCOPE:
        return
    frame = frame_around(parent_context)
    call = frame.call if frame is not None and frame.block is None else None
    if call is None or call.state is None or call.told_elsewhere is not None:
        return
    spans = call.others
    if spans is None:
        spans = call.others = []
    if len(spans) >= _MOST_SPANS:  # most are a database's, a client's
        spans[:] = [one for one in spans if one.is_recording() or is_inference(one.attributes)]
    if len(spans) < _MOST_SPANS:
        spans.append(span)


def frame_around(parent_context: Any) -> Frame | None:
    """Where a new span begins: some are given a context of their own, made of nothing."""
    return frame_of(parent_context) or frame_of(otel_context.get_current())


def told_elsewhere(call: OpenCall) -> ToldElsewhere:
    """What others tell of a call that has ended; looked up once.

    Of one that is not sampled nobody can see it: then what was true of its like counts.
    """
    found: ToldElsewhere | None = call.told_elsewhere
    if found is None:
        found = call.told_elsewhere = _looked_up(call)
        call.others = None  # a task begun in the call keeps the call, maybe for good
    return found


def _looked_up(call: OpenCall) -> ToldElsewhere:
    state = call.state
    if state is None:
        return _NOTHING
    if not state.get_span_context().trace_flags.sampled:
        return _last.get(call.name, _NOTHING)
    around = span_in(call.base) if call.base else None
    others = call.others or ()
    found = _told(others if around is None else [*others, around])
    if found is not _NOTHING or call.name in _last:
        if len(_last) >= _MOST_NAMES:
            _last.clear()
        _last[call.name] = found
    return found


def _told(spans: Iterable[Any]) -> ToldElsewhere:
    found = _NOTHING
    for span in spans:
        scope = getattr(span, "instrumentation_scope", None)
        if scope is None or scope.name == SCOPE:
            continue
        if has_metrics(scope.name, span.attributes):
            return ToldElsewhere(usage=True, metrics=True)
        if is_inference(span.attributes):
            found = ToldElsewhere(usage=True)
    return found
