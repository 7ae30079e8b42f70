"""Every SDK in every way that it streams: the first token is where the server wrote it."""

from __future__ import annotations

from end_to_end.wire_labs import MARKS, in_every, near_once
from lab.wire_server import Timing
from lab.wire_ways import WAYS
from llmphases.calls import Ended
from llmphases.phases import Origin, Phase

pytestmark = MARKS

STREAMED = Timing(opening_s=0.05, first_token_s=0.12, gap_s=0.02, tokens=4)


@in_every(WAYS)
def test_the_first_token_is_where_the_server_wrote_it(way, wire_lab):
    """RC-020: what opens a stream is its first chunk, and no token."""

    def lateness():
        found, (served,) = ask(STREAMED)
        call = found.call
        assert (call.requests, call.retries, call.ended) == (1, 0, Ended.EXHAUSTED)
        (first,), (generation,) = found.of(Phase.TIME_TO_FIRST_TOKEN), found.of(Phase.GENERATION)
        asked_ns, token_ns = found.at_ns(first.start_ns), found.at_ns(call.first_token_ns)
        assert call.first_token_ns == first.end_ns == generation.start_ns
        chunk_ns = asked_ns + call.first_chunk_ns
        late_ns = {
            "first token": token_ns - served.first_token_ns,
            "last token": found.at_ns(generation.end_ns) - served.last_token_ns,
        }
        if way.shows_opening:
            assert chunk_ns < token_ns
            late_ns["first chunk"] = chunk_ns - served.pieces[0][1]
        else:
            assert chunk_ns == token_ns
        late_ns["received"] = served.received_ns - found.sent_ns(first)
        if not way.takes_its_time:
            stated_ns = served.first_token_ns - served.received_ns
            late_ns["time to first token"] = first.end_ns - first.start_ns - stated_ns
        return late_ns

    with wire_lab.asking(way, "stream") as ask:
        near_once(lateness)


@in_every([way for way in WAYS if way.whole is not None])
def test_a_whole_answer_has_no_first_token(way, wire_lab):
    with wire_lab.asking(way, "whole") as ask:
        found, (served,) = ask(Timing(first_token_s=0.02, gap_s=0.01))
    call = found.call
    assert (call.first_token_ns, call.first_chunk_ns, call.first_answer_ns) == (None, None, None)
    assert (call.stream, call.chunks, call.requests) == (False, None, 1)
    # Ollama's server says itself how long it took; nobody else does.
    measured = [stretch.phase for stretch in call.stretches if stretch.origin is Origin.MEASURED]
    assert measured == ([] if call.reported_trusted else [Phase.INFERENCE])
    assert call.duration_ns >= served.last_piece_ns - served.received_ns
