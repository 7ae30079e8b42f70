"""The end of a call: its sums, and the frozen record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmphases.calls import Call, Ended, Stretch
from llmphases.conventions import OTHER_ERROR
from llmphases.observers import Asked
from llmphases.phases import Cost
from llmphases.recorder.conversation import Conversation
from llmphases.recorder.ledger import Piece, in_order, sweep
from llmphases.recorder.requests import Request
from llmphases.recorder.streams import ANSWER, REASONING, StreamTrack, long_stalls
from llmphases.recorder.timeline import detail_of
from llmphases.records import assembler

if TYPE_CHECKING:
    from llmphases.recorder.lifetime import CallLifetime

_call = assembler(Call)
_stretch = assembler(Stretch)


def close_call(call: CallLifetime, at_ns: int, ended: Ended | None, error_type: str | None) -> Call:
    """The record of a call whose phases are all closed; draws its stalls and its own end."""
    start_ns, conversation, timeline = call.start_ns, call.conversation, call.timeline
    if conversation.tracks:
        _draw_stalls(call)
    timeline.pieces.sort(key=in_order)
    inner = call.nesting.inner(at_ns)
    sums = sweep(start_ns, at_ns, timeline.pieces, inner, conversation.tracks)
    call.drawn_end_us = _drawn_end(call, call.wall(at_ns))
    call.asked = tuple(_asked(request, at_ns) for request in conversation.requests)
    duration_ns = at_ns - start_ns
    answer = conversation.first_of(ANSWER, duration_ns)
    reasoning = conversation.first_of(REASONING, duration_ns)
    tokens = [ns for ns in (answer, reasoning) if ns is not None]
    facts = call.facts
    call.nesting.settle_usage(facts)
    return _call(
        name=call.name,
        start_unix_ns=call.wall(start_ns),
        duration_ns=duration_ns,
        exclusive_ns=sums.exclusive,
        unattributed_ns=sums.unattributed_ns,
        unattributed_cost=Cost.FIXED if call.nesting.is_seen() else Cost.UNSPLIT,
        stretches=_stretches(timeline.pieces, start_ns, at_ns),
        stalls=_stretches(timeline.stalls, start_ns, at_ns) if timeline.stalls else (),
        details=tuple(detail_of(phase, start_ns, at_ns) for phase in timeline.details()),
        operation=call.operation,
        provider=facts.provider,
        request_model=facts.request_model,
        response_model=facts.response_model,
        stream=facts.stream,
        usage=facts.usage,
        requests=len(conversation.requests),
        retries=conversation.retries,
        chunks=_chunks(conversation.tracks),
        first_chunk_ns=_first_chunk(conversation),
        first_token_ns=min(tokens) if tokens else None,
        first_reasoning_ns=reasoning,
        first_answer_ns=answer,
        first_token_rule=facts.first_token_rule,
        units=facts.units,
        batch_size=facts.batch_size,
        cache_result=facts.cached,
        queued_ns=call.queued_ns,
        nested=call.nested,
        job=call.job.name if call.job is not None else None,
        ended=ended,
        error_type=error_type,
        reported=dict(facts.reported),
        reported_trusted=facts.reported_trusted,
        process=facts.process if facts.children == 1 else None,
        attributes=dict(facts.attributes),
        outside_inner_ns=sums.outside_inner,
    )


def _draw_stalls(call: CallLifetime) -> None:
    """The longest waits for a consumer become spans at their true place."""
    for since_ns, length_ns, track in long_stalls(call.conversation.tracks):
        interrupted = call.conversation.interrupted_by(track, since_ns, since_ns + length_ns)
        call.timeline.write_stall(since_ns, length_ns, interrupted)


def _drawn_end(call: CallLifetime, wall_ns: int) -> int:
    """A call inside something of ours may not touch its next sibling either."""
    if call.parent is not None:
        return call.parent.lane.finish(call.drawn_start_us, wall_ns, call.last_inside_us)
    return max(wall_ns // 1000, call.drawn_start_us + 1, call.last_inside_us)


def _stretches(pieces: list[Piece], start_ns: int, end_ns: int) -> tuple[Stretch, ...]:
    """What of the pieces, which come in order, lies in the window; counted from its start."""
    stretches = [
        _stretch(
            phase=p.phase,
            start_ns=max(p.start_ns, start_ns) - start_ns,
            end_ns=min(p.end_ns, end_ns) - start_ns,
            request=p.request,
            origin=p.origin,
            drawn=p.drawn,
        )
        for p in pieces
        if p.start_ns <= end_ns and p.end_ns >= start_ns
    ]
    return tuple(stretches)


def _chunks(tracks: list[StreamTrack]) -> int | None:
    own = [t for t in tracks if t.own]
    counted = own or tracks
    return sum(t.chunks for t in counted) if counted else None


def _first_chunk(conversation: Conversation) -> int | None:
    requests = conversation.requests
    return _first_chunk_of(requests[0]) if requests else None


def _asked(request: Request, end_ns: int) -> Asked:
    ended_ns = end_ns if request.ended_ns is None else request.ended_ns
    failure = OTHER_ERROR if request.failed_ns is not None else None
    return Asked(
        max(0, ended_ns - request.issued_ns),
        _first_chunk_of(request),
        request.error_type or failure,
        request.resent_ns is not None,
    )


def _first_chunk_of(request: Request) -> int | None:
    if request.track is None or request.track.first_chunk_ns is None:
        return None
    return max(0, request.track.first_chunk_ns - request.issued_ns)
