"""The end of a call: its sums, and the frozen record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llmphases.calls import Call, Ended, Stretch
from llmphases.phases import Cost, Phase
from llmphases.recorder.ledger import Piece, sweep
from llmphases.recorder.streams import ANSWER, KEPT_STALLS, REASONING, StreamTrack
from llmphases.recorder.timeline import detail_of

if TYPE_CHECKING:
    from llmphases.recorder.recorder import CallRecorder


def close_call(
    call: CallRecorder, at_ns: int, ended: Ended | None, error_type: str | None
) -> Call:
    """The record of a call whose phases are all closed; draws its stalls and its own end."""
    _draw_stalls(call)
    sums = sweep(call.start_ns, at_ns, call.timeline.pieces, call.inner, call.conversation.tracks)
    wall_ns = call.wall(at_ns)
    call.drawn_end_us = _drawn_end(call, wall_ns)
    start_ns = call.start_ns
    answer, reasoning = call.first_of(ANSWER), call.first_of(REASONING)
    tokens = [ns for ns in (answer, reasoning) if ns is not None]
    facts = call.facts
    return Call(
        name=call.name,
        start_unix_ns=call.wall(start_ns),
        duration_ns=at_ns - start_ns,
        exclusive_ns=sums.exclusive,
        unattributed_ns=sums.unattributed_ns,
        unattributed_cost=Cost.FIXED if call.conversation.is_seen else Cost.UNSPLIT,
        stretches=_stretches(call.timeline.pieces, start_ns, at_ns),
        stalls=_stretches(call.timeline.stalls, start_ns, at_ns),
        details=tuple(detail_of(phase, start_ns) for phase, _ in call.timeline.details()),
        operation=call.operation,
        provider=facts.provider,
        request_model=facts.request_model,
        response_model=facts.response_model,
        stream=facts.stream,
        usage=facts.usage,
        requests=len(call.conversation.requests),
        retries=call.conversation.retries,
        chunks=_chunks(call.conversation.tracks),
        first_chunk_ns=_first_chunk(call),
        first_token_ns=min(tokens) if tokens else None,
        first_reasoning_ns=reasoning,
        first_answer_ns=answer,
        first_token_rule=facts.first_token_rule,
        units=facts.units,
        batch_size=facts.batch_size,
        cache_result=facts.cache_result,
        queued_ns=call.queued_ns,
        nested=call.nested,
        job=call.job.name if call.job is not None else None,
        ended=ended,
        error_type=error_type,
        reported=dict(facts.reported),
        reported_trusted=facts.reported_trusted,
        attributes=dict(facts.attributes),
        outside_inner_ns=sums.outside_inner,
    )


def pieces_so_far(call: CallRecorder, at_ns: int) -> tuple[list[Piece], list[StreamTrack]]:
    """What a call counts for in the one around it, while it may still be open."""
    pieces = list(call.timeline.pieces)
    if call.is_open:
        for track in call.conversation.tracks:
            track.refresh(at_ns)
        for phase in call.timeline.open:
            if not phase.is_detail:
                kind = phase.phase
                if kind is Phase.TIME_TO_FIRST_TOKEN:
                    kind = Phase.INFERENCE
                pieces.append(Piece(kind, phase.start_ns, at_ns, phase.sequence, None))
    tracks = list(call.conversation.tracks)
    for inner in call.inner:
        pieces += inner.pieces
        tracks += inner.tracks
    return pieces, tracks


def _drawn_end(call: CallRecorder, wall_ns: int) -> int:
    """A call inside something of ours may not touch its next sibling either."""
    if call.parent is not None:
        return call.parent.lane.finish(call.drawn_start_us, wall_ns, call.lane.last_us)
    return max(wall_ns // 1000, call.drawn_start_us + 1, call.lane.last_us)


def _stretches(pieces: list[Piece], start_ns: int, end_ns: int) -> tuple[Stretch, ...]:
    kept = [p for p in pieces if p.start_ns <= end_ns and p.end_ns >= start_ns]
    made = (
        Stretch(
            phase=p.phase,
            start_ns=max(p.start_ns, start_ns) - start_ns,
            end_ns=min(p.end_ns, end_ns) - start_ns,
            request=p.request,
            origin=p.origin,
            drawn=p.drawn,
        )
        for p in sorted(kept, key=lambda p: (p.start_ns, p.sequence))
    )
    return tuple(made)


def _draw_stalls(call: CallRecorder) -> None:
    """The longest waits for a consumer become spans at their true place."""
    tracks = call.conversation.tracks
    longest = [(length, since, track) for track in tracks for length, since in track.longest]
    longest.sort(key=lambda stall: stall[0], reverse=True)
    for length, since, track in sorted(longest[:KEPT_STALLS], key=lambda stall: stall[1]):
        interrupted = call.conversation.interrupted_by(track, since, since + length)
        call.timeline.write_stall(since, length, interrupted)


def _chunks(tracks: list[StreamTrack]) -> int | None:
    own = [t for t in tracks if t.own]
    counted = own or tracks
    return sum(t.chunks for t in counted) if counted else None


def _first_chunk(call: CallRecorder) -> int | None:
    for request in call.conversation.requests[:1]:
        if request.track is not None and request.track.first_chunk_ns is not None:
            return max(0, request.track.first_chunk_ns - request.issued_ns)
    return None

