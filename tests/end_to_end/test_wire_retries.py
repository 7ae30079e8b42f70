"""Every SDK, when its request fails: `retry` is the attempt that failed, and the wait after it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from end_to_end.wire_labs import MARKS, in_every, near_once
from lab.wire_server import Timing
from lab.wire_ways import WAYS
from llmphases.phases import Phase

pytestmark = MARKS

ANSWER = Timing(first_token_s=0.04, gap_s=0.02, fail_times=1, fail_s=0.05)
STATUSES = {
    "429": replace(ANSWER, fail_status=429, retry_after_s=0.1),
    # Most heed it, whatever the status; else they wait for half a second.
    "503": replace(ANSWER, fail_status=503, retry_after_s=0.05),
}
PLAIN = [way for way in WAYS if not way.is_another]


def attempts_that_were_made(found, served, way):
    """How late the ends of both attempts were stamped, in a call of two requests."""
    failed, answered = served
    call = found.call
    assert (call.requests, call.retries, call.error_type) == (2, 1, None)
    (retry,) = found.of(Phase.RETRY)
    *_, first = found.of(Phase.TIME_TO_FIRST_TOKEN)
    assert (retry.request, first.request) == (0, 1)
    assert retry.end_ns == first.start_ns
    # What opened the stream that was cut may have been held by the program for a moment.
    held_ns = retry.end_ns - retry.start_ns - call.exclusive_ns[Phase.RETRY]
    assert 0 <= held_ns <= call.exclusive_ns.get(Phase.TRANSMISSION, 0)
    assert found.at_ns(retry.end_ns) >= failed.last_piece_ns
    late_ns = {
        "second attempt sent": answered.received_ns - found.sent_ns(first),
        "first token": found.at_ns(first.end_ns) - answered.first_token_ns,
    }
    if not way.takes_its_time:
        late_ns["second attempt"] = answered.received_ns - found.at_ns(retry.end_ns)
    return late_ns


def failed_before_a_token(found, served, way):
    """The whole of the first attempt is the retry, and the wait for the second one."""
    late_ns = attempts_that_were_made(found, served, way)
    (retry,) = found.of(Phase.RETRY)
    late_ns["first attempt sent"] = served[0].received_ns - found.sent_ns(retry)
    if not way.takes_its_time:
        late_ns["first attempt"] = served[0].received_ns - found.at_ns(retry.start_ns)
    assert len(found.of(Phase.TIME_TO_FIRST_TOKEN)) == len(found.of(Phase.GENERATION)) == 1
    return late_ns


@pytest.mark.parametrize("status", STATUSES)
@in_every(PLAIN)
def test_a_request_that_is_refused(way, status, wire_lab):
    """By the client itself, where it does so; else by the program."""
    what, retries = ("stream", 1) if way.tries_again else ("again", 0)
    with wire_lab.asking(way, what, retries=retries) as ask:
        near_once(lambda: failed_before_a_token(*ask(STATUSES[status]), way))


@in_every(PLAIN)
def test_a_stream_that_is_cut_before_its_first_token(way, wire_lab):
    with wire_lab.asking(way, "again") as ask:
        near_once(lambda: failed_before_a_token(*ask(replace(ANSWER, cut_after=0)), way))


@in_every(PLAIN)
def test_a_stream_that_is_cut_after_some_tokens_keeps_what_was_seen(way, wire_lab):
    def lateness():
        found, served = ask(replace(ANSWER, cut_after=2))
        late_ns = attempts_that_were_made(found, served, way)
        begun, again = found.of(Phase.GENERATION)
        assert (begun.request, again.request) == (0, 1)
        (retry,) = found.of(Phase.RETRY)
        late_ns["first token of the first"] = found.at_ns(begun.start_ns) - served[0].first_token_ns
        late_ns["last token before the cut"] = found.at_ns(begun.end_ns) - served[0].last_token_ns
        cut_ns = found.at_ns(retry.start_ns) - served[0].last_piece_ns
        assert cut_ns >= 0
        if not way.takes_its_time:
            late_ns["cut"] = cut_ns
        return late_ns

    with wire_lab.asking(way, "again") as ask:
        near_once(lateness)
