"""The recorder as a state machine: every worked timeline of the documentation, on a fake clock."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from llmphases.calls import Call, Ended, Usage
from llmphases.observers import Asked, Observers
from llmphases.phases import Cost, Origin, Phase
from llmphases.recorder import CallRecorder
from llmphases.recorder.children import ChildRecorder
from llmphases.recorder.recorder import Description
from llmphases.recorder.reported import ReportedTimes
from llmphases.recorder.streams import ANSWER, REASONING, Reading, StreamTrack
from llmphases.testing import CollectingObserver

S = 1_000_000_000
MS = 1_000_000


def at(seconds: float) -> int:
    return 1_000 * S + round(seconds * S)


class Script:
    """A call whose moments are given in seconds from its start."""

    def __init__(self, outer: Script | None = None, *, start: float = 0.0, in_block: bool = False):
        self.heard = CollectingObserver() if outer is None else outer.heard
        self.recorder = CallRecorder(
            Description(name="call"),
            at(start),
            offset_ns=0,
            observers=Observers([self.heard]),
            outer=outer.recorder if outer is not None else None,
            parent=outer.recorder if outer is not None else None,
            inside_block=in_block,
        )
        self.recorder.started()

    def block(self, phase: Phase, start: float, end: float, key: object = None) -> None:
        opened = self.recorder.open_block(phase, at(start), key=key)
        assert opened is not None
        self.recorder.close_block(opened, at(end))

    def sent(self, seconds: float, key: object = None) -> object:
        return self.recorder.request_sent(at(seconds), key)

    def fail(self, request: object, seconds: float) -> None:
        self.recorder.request_ended(request, at(seconds), failed=True)  # type: ignore[arg-type]

    def first(self, seconds: float, key: object = None) -> None:
        self.recorder.first_token(at(seconds), key)

    def last(self, seconds: float, key: object = None) -> None:
        self.recorder.last_token(at(seconds), key)

    def finish(self, seconds: float, ended: Ended | None = None) -> Call:
        call = self.recorder.finish(at(seconds), ended)
        assert call is not None
        assert sum(call.exclusive_ns.values()) + call.unattributed_ns == call.duration_ns
        assert sum(call.cost_ns(cost) for cost in Cost) == call.duration_ns
        return call


class Stream:
    """A stream whose chunks arrive, and are held, at given times."""

    def __init__(self, script: Script, seconds: float, *, own: bool = False) -> None:
        self._recorder = script.recorder
        track = self._recorder.stream_opened(at(seconds), own=own)
        assert track is not None
        self.track: StreamTrack = track
        self.stall = self.at_last = self.count = 0
        self.last: int | None = None
        self.held_since: int | None = None
        track.read = self._read

    def _read(self) -> Reading:
        return Reading(self.stall, self.held_since, self.last, self.at_last, self.count)

    def chunk(self, seconds: float, kind: int = ANSWER, hold: float = 0.0) -> Stream:
        self.count += 1
        if kind:
            self.last, self.at_last = at(seconds), self.stall
        self._recorder.chunk_seen(self.track, at(seconds), kind)
        return self.hold(seconds, hold)

    def hold(self, seconds: float, length: float) -> Stream:
        if length:
            self.stall += round(length * S)
            self.track.keep_stall(at(seconds), round(length * S))
        return self

    def end(self, seconds: float, *, failed: bool = False) -> None:
        self._recorder.stream_ended(self.track, at(seconds), self._read(), failed=failed)


def ms(call: Call) -> dict[str, float]:
    """Exclusive times in milliseconds, by phase, and what no phase covers."""
    times = {phase.value: ns / MS for phase, ns in call.exclusive_ns.items()}
    return times | {"unattributed": call.unattributed_ns / MS}


def costs(call: Call) -> dict[str, float]:
    return {cost.value: call.cost_ns(cost) / MS for cost in Cost if call.cost_ns(cost)}


def extents(call: Call, phase: Phase) -> list[tuple[float, float]]:
    return [(s.start_ns / S, s.end_ns / S) for s in call.stretches if s.phase is phase]


@pytest.fixture
def script() -> Iterator[Script]:
    made = Script()
    yield made
    made.recorder.finish(at(1e6))


def test_a_call_with_retrieval_a_role_chunk_and_a_stall(script: Script) -> None:
    script.block(Phase.RETRIEVAL, 0, 1)
    script.sent(1.2)
    stream = Stream(script, 1.3)
    stream.chunk(1.6, kind=0).chunk(2).chunk(3, hold=0.3).chunk(4).end(4.1)
    call = script.finish(4.1)
    assert ms(call) == {
        "retrieval": 1000,
        "time_to_first_token": 800,
        "generation": 1700,
        "transmission": 300,
        "unattributed": 300,
    }
    assert costs(call) == {"fixed": 2100, "generation": 1700, "delivery": 300}
    assert call.first_token_ns == 2 * S
    assert call.first_chunk_ns == 400 * MS


def test_an_agent_loop_adds_its_requests_up(script: Script) -> None:
    script.sent(0)
    script.first(1)
    script.last(2)
    script.block(Phase.TOOL, 2, 3)
    script.sent(3)
    script.first(3.5)
    script.last(4.5)
    call = script.finish(5)
    assert extents(call, Phase.TIME_TO_FIRST_TOKEN) == [(0, 1), (3, 3.5)]
    assert extents(call, Phase.GENERATION) == [(1, 2), (3.5, 4.5)]
    assert costs(call) == {"fixed": 2000, "generation": 2000, "tool": 1000}
    assert call.unattributed_ns == 500 * MS
    assert call.requests == 2


def test_two_parallel_requests_share_no_instant(script: Script) -> None:
    script.sent(0, "a")
    script.sent(0, "b")
    script.first(1, "a")
    script.first(2, "b")
    script.last(3, "b")
    script.last(4, "a")
    call = script.finish(4)
    assert ms(call) == {"time_to_first_token": 1000, "generation": 3000, "unattributed": 0}
    assert extents(call, Phase.TIME_TO_FIRST_TOKEN) == [(0, 1), (0, 2)]
    assert extents(call, Phase.GENERATION) == [(1, 4), (2, 3)]


def test_a_request_cut_after_its_first_token_keeps_what_it_measured(script: Script) -> None:
    script.sent(0)
    first = Stream(script, 0)
    first.chunk(1).chunk(3).end(3, failed=True)
    script.sent(4)
    script.first(5)
    script.last(8)
    call = script.finish(8)
    assert ms(call) == {
        "time_to_first_token": 2000,
        "generation": 5000,
        "retry": 1000,
        "unattributed": 0,
    }
    assert (call.requests, call.retries) == (2, 1)


def test_a_request_that_fails_before_its_first_token_is_a_retry_until_the_next(
    script: Script,
) -> None:
    request = script.sent(0)
    script.fail(request, 2)
    script.sent(3)
    script.first(4)
    call = script.finish(4)
    assert ms(call) == {
        "retry": 3000,
        "time_to_first_token": 1000,
        "generation": 0,
        "unattributed": 0,
    }
    assert call.retries == 1


def test_the_last_failed_request_is_a_retry_until_its_failure(script: Script) -> None:
    script.fail(script.sent(0), 2)
    call = script.finish(3)
    assert ms(call) == {"retry": 2000, "unattributed": 1000}
    assert call.retries == 0


def test_an_inner_call_counts_in_the_outer_one(script: Script) -> None:
    inner = Script(script, start=1)
    inner.sent(1)
    inner.first(2)
    inner.last(4)
    inner_call = inner.finish(4)
    outer_call = script.finish(5)
    assert costs(inner_call) == {"fixed": 1000, "generation": 2000}
    assert costs(outer_call) == {"fixed": 3000, "generation": 2000}
    assert inner_call.nested
    assert not outer_call.nested
    assert (outer_call.requests, inner_call.requests) == (0, 1)
    assert outer_call.outside_inner_ns == {}
    assert inner_call.outside_inner_ns == inner_call.exclusive_ns


def test_an_inner_call_inside_a_block_belongs_to_the_block(script: Script) -> None:
    opened = script.recorder.open_block(Phase.RETRIEVAL, at(0))
    assert opened is not None
    inner = Script(script, start=1, in_block=True)
    inner.sent(1)
    inner.first(2)
    inner.last(4)
    inner.finish(4)
    script.recorder.close_block(opened, at(5))
    call = script.finish(5)
    assert ms(call) == {"retrieval": 5000, "unattributed": 0}
    assert call.outside_inner_ns == {Phase.RETRIEVAL: 2 * S}


def test_an_inner_call_that_outlives_the_outer_one_is_clipped(script: Script) -> None:
    inner = Script(script, start=1)
    inner.sent(1)
    inner.first(2)
    outer_call = script.finish(3)
    inner.last(6)
    inner_call = inner.finish(7)
    assert costs(outer_call) == {"fixed": 2000, "generation": 1000}
    assert costs(inner_call) == {"fixed": 2000, "generation": 4000}


def test_closing_a_stream_after_its_last_chunk_is_the_consumers_time(script: Script) -> None:
    stream = Stream(script, 0, own=True)
    stream.chunk(1).chunk(1.8, hold=0.2).end(2)
    call = script.finish(2, Ended.CLOSED)
    assert ms(call) == {
        "time_to_first_token": 1000,
        "generation": 800,
        "transmission": 200,
        "unattributed": 0,
    }
    assert call.ended is Ended.CLOSED


def test_a_request_that_nobody_saw_leaves_no_share(script: Script) -> None:
    script.block(Phase.PROMPT_BUILD, 0, 0.5)
    script.block(Phase.POST_PROCESSING, 3.5, 4)
    call = script.finish(4)
    assert costs(call) == {"fixed": 500, "unsplit": 3000, "delivery": 500}
    assert call.fixed_share is None


def test_a_stream_that_waits_for_its_consumer_before_the_first_next(script: Script) -> None:
    script.sent(0.5)
    stream = Stream(script, 1)
    stream.hold(1, 4).chunk(5.2).chunk(7).end(7)
    call = script.finish(7)
    assert ms(call) == {
        "time_to_first_token": 700,
        "transmission": 4000,
        "generation": 1800,
        "unattributed": 500,
    }


def test_a_command_line_tool_with_events(script: Script) -> None:
    child = ChildRecorder(script.recorder, at(0))
    child.ready(at(1.2), "init_event")
    child.first_token(at(2))
    child.last_token(at(3))
    child.tool_result(at(5.5))
    child.first_token(at(6))
    child.last_token(at(7))
    child.exited(at(7.5))
    call = script.finish(7.5)
    assert ms(call) == {
        "process_startup": 1200,
        "time_to_first_token": 1300,
        "generation": 2000,
        "tool": 2500,
        "process_shutdown": 500,
        "unattributed": 0,
    }
    assert call.first_token_rule == "init_event"


def test_a_command_line_tool_that_streams_plain_text(script: Script) -> None:
    child = ChildRecorder(script.recorder, at(0))
    child.text(at(2), at(9.8))
    child.exited(at(10))
    call = script.finish(10)
    assert ms(call) == {
        "process_startup": 2000,
        "generation": 7800,
        "process_shutdown": 200,
        "unattributed": 0,
    }
    assert call.fixed_share == pytest.approx(0.22)


def test_a_command_line_tool_that_prints_in_one_burst(script: Script) -> None:
    child = ChildRecorder(script.recorder, at(0))
    child.text(at(9.7), at(9.7))
    child.exited(at(9.9))
    call = script.finish(9.9)
    assert ms(call) == {"inference": 9700, "process_shutdown": 200, "unattributed": 0}
    assert call.fixed_share is None
    assert call.first_token_ns is None


def test_the_story_of_68_seconds(script: Script) -> None:
    child = ChildRecorder(script.recorder, at(0))
    child.text(at(68), at(69.9))
    child.exited(at(69.9))
    call = script.finish(69.9)
    assert costs(call) == {"fixed": 68000, "generation": 1900}
    assert call.fixed_share == pytest.approx(68 / 69.9)


def test_a_streamed_request_without_any_token_is_inference(script: Script) -> None:
    """RC-022"""
    stream = Stream(script, 0, own=True)
    stream.chunk(1, kind=0).chunk(2, kind=0).end(2)
    call = script.finish(2)
    assert ms(call) == {"inference": 2000, "unattributed": 0}
    assert call.first_token_ns is None
    assert call.fixed_share is None
    assert call.chunks == 2


def test_a_block_that_is_no_delivery_ends_an_announced_request(script: Script) -> None:
    script.sent(0)
    script.first(1)
    script.block(Phase.TOOL, 3, 4)
    call = script.finish(5)
    assert ms(call) == {
        "time_to_first_token": 1000,
        "generation": 2000,
        "tool": 1000,
        "unattributed": 1000,
    }


def test_a_delivery_block_ends_a_request_only_if_no_token_follows(script: Script) -> None:
    script.sent(0)
    script.first(1)
    script.block(Phase.POST_PROCESSING, 2, 3)
    script.last(4)
    call = script.finish(4)
    assert call.requests == 1
    assert ms(call) == {
        "time_to_first_token": 1000,
        "generation": 2000,
        "post_processing": 1000,
        "unattributed": 0,
    }


def test_without_a_last_token_the_delivery_block_was_the_end(script: Script) -> None:
    script.sent(0)
    script.first(1)
    script.block(Phase.POST_PROCESSING, 2, 3)
    call = script.finish(4)
    assert ms(call) == {
        "time_to_first_token": 1000,
        "generation": 1000,
        "post_processing": 1000,
        "unattributed": 1000,
    }


def test_a_function_that_yields_between_blocks_makes_a_request_of_each_run(script: Script) -> None:
    stream = Stream(script, 0, own=True)
    stream.chunk(1).chunk(2)
    script.block(Phase.TOOL, 2.5, 3)
    stream.chunk(4).chunk(5).end(5)
    call = script.finish(5)
    assert call.requests == 2
    assert extents(call, Phase.TIME_TO_FIRST_TOKEN) == [(0, 1), (3, 4)]
    assert extents(call, Phase.GENERATION) == [(1, 2), (4, 5)]


def test_items_are_no_tokens_once_something_inside_spoke_of_a_request(script: Script) -> None:
    stream = Stream(script, 0, own=True)
    script.sent(0)
    script.first(1)
    script.last(2)
    stream.chunk(2.5).chunk(3).end(3)
    call = script.finish(3)
    assert call.requests == 1
    assert ms(call) == {"time_to_first_token": 1000, "generation": 1000, "unattributed": 1000}


def test_reasoning_and_answer_are_stamped_apart(script: Script) -> None:
    stream = Stream(script, 0, own=True)
    stream.chunk(1, kind=REASONING).chunk(3, kind=ANSWER).chunk(4).end(4)
    call = script.finish(4)
    assert (call.first_reasoning_ns, call.first_answer_ns) == (S, 3 * S)
    assert call.first_token_ns == S
    assert extents(call, Phase.GENERATION) == [(1, 4)]


def test_trusted_times_of_a_server_split_a_call_without_a_stream(script: Script) -> None:
    script.sent(0)
    script.recorder.report(ReportedTimes(prefill_ns=1 * S, generation_ns=3 * S, raw={"eval": 3}))
    script.last(5)
    call = script.finish(5)
    assert ms(call) == {"time_to_first_token": 2000, "generation": 3000, "unattributed": 0}
    assert {s.origin for s in call.stretches} == {Origin.REPORTED}
    assert call.first_token_ns is None
    assert call.reported_trusted is True


def test_times_of_a_server_that_do_not_fit_stay_raw(script: Script) -> None:
    """RC-104"""
    script.sent(0)
    script.recorder.report(ReportedTimes(generation_ns=6 * S, raw={"eval": 6}))
    script.last(5)
    call = script.finish(5)
    assert ms(call) == {"inference": 5000, "unattributed": 0}
    assert call.reported == {"eval": 6}
    assert call.reported_trusted is False


def test_numbers_of_which_no_phase_is_made_are_neither_true_nor_false(script: Script) -> None:
    script.sent(0)
    script.recorder.report(ReportedTimes(raw={"latency": 6}))
    script.last(5)
    call = script.finish(5)
    assert call.reported == {"latency": 6}
    assert call.reported_trusted is None


def test_times_a_little_over_the_window_are_scaled_to_it(script: Script) -> None:
    script.sent(0)
    script.recorder.report(ReportedTimes(prefill_ns=2 * S, generation_ns=2 * S + S // 10))
    script.last(4)
    call = script.finish(4)
    assert call.exclusive_ns[Phase.GENERATION] == 2_100 * MS * 4 * S // (4 * S + S // 10)
    assert call.reported_trusted is True


def test_moments_after_the_end_change_nothing(script: Script) -> None:
    call = script.finish(1)
    script.first(2)
    script.last(3)
    assert script.sent(4) is None
    assert script.recorder.open_block(Phase.TOOL, at(5)) is None
    assert script.finish(6) is call


def test_a_clock_that_goes_back_gives_no_negative_time(script: Script) -> None:
    """RC-077"""
    script.sent(1)
    script.first(0.5)
    script.last(0.2)
    call = script.finish(-1)
    assert call.duration_ns == 0
    assert all(ns >= 0 for ns in call.exclusive_ns.values())
    assert all(s.start_ns <= s.end_ns for s in call.stretches)


def test_ten_short_phases_keep_their_order_and_length(script: Script) -> None:
    """RC-079"""
    for n in range(10):
        script.block(Phase.TOOL, n * 0.0002, (n + 1) * 0.0002)
    call = script.finish(0.002)
    drawn = [s.drawn for s in call.stretches]
    assert all(d is not None and d[1] - d[0] == 199 for d in drawn)
    assert drawn == sorted(drawn)
    assert call.exclusive_ns == {Phase.TOOL: 2 * MS}


def test_siblings_never_touch_and_lie_in_their_parent(script: Script) -> None:
    """RC-097"""
    script.block(Phase.PROMPT_BUILD, 0, 1)
    script.sent(1)
    script.first(2)
    script.last(3)
    script.block(Phase.POST_PROCESSING, 3, 3)
    script.block(Phase.POST_PROCESSING, 3, 3)
    script.finish(3)
    spans = sorted((p.drawn_start_us, p.drawn_end_us or 0) for p in script.heard.phases)
    for (_, end), (start, _) in pairwise(spans):
        assert start > end
    assert script.recorder.drawn_end_us is not None
    assert spans[-1][1] <= script.recorder.drawn_end_us


# --- why requests fail ---------------------------------------------------------------------------


def failures(script: Script) -> list[tuple[str, str | None]]:
    """Each closed phase, and why it failed."""
    return [(phase.name, phase.error_type) for phase in script.heard.phases]


def test_each_retry_tells_its_own_reason(script: Script) -> None:
    for second, reason in enumerate(("RateLimitError", "TimeoutError")):
        request = script.sent(second * 10)
        script.recorder.request_ended(
            request, at(second * 10 + 4), failed=True, error_type=reason  # type: ignore[arg-type]
        )  # fmt: skip
    script.sent(20)
    script.last(25)
    call = script.finish(30)
    assert call.retries == 2
    assert failures(script) == [
        ("retry", "RateLimitError"), ("retry", "TimeoutError"), ("inference", None),
    ]  # fmt: skip
    assert script.recorder.asked == (
        Asked(4 * S, None, "RateLimitError", is_resent=True),
        Asked(4 * S, None, "TimeoutError", is_resent=True),
        Asked(5 * S, None, None, is_resent=False),
    )


def test_a_request_that_breaks_later_tells_why_on_its_generation_and_on_the_gap(
    script: Script,
) -> None:
    script.sent(0)
    stream = Stream(script, 0)
    stream.chunk(1).chunk(3)
    script.recorder.stream_ended(
        stream.track, at(4), stream._read(), failed=True, error_type="ReadError"
    )
    script.sent(6)
    script.last(8)
    script.finish(8)
    assert failures(script) == [
        ("time_to_first_token", None),
        ("generation", "ReadError"),
        ("retry", "ReadError"),
        ("inference", None),
    ]
    assert script.recorder.asked[0] == Asked(4 * S, 1 * S, "ReadError", is_resent=True)


def test_a_failure_that_nobody_gave_a_reason_for_is_an_other_one(script: Script) -> None:
    script.fail(script.sent(0), 4)
    script.sent(6)
    script.finish(8)
    assert [asked.error_type for asked in script.recorder.asked] == ["_OTHER", None]


def test_a_request_that_was_open_when_its_call_failed_failed_with_it(script: Script) -> None:
    script.sent(1)
    script.recorder.finish(at(3), Ended.ERROR, "APITimeoutError")
    assert script.recorder.asked == (Asked(2 * S, None, "APITimeoutError", is_resent=False),)


@pytest.mark.parametrize(
    ("read", "written", "said", "result"),
    [
        (900, 0, None, "hit"),
        (900, 100, None, "hit"),
        (0, 100, None, "miss"),
        (0, 0, None, None),  # nobody asked for it, as far as can be told
        (0, None, None, None),
        (None, 100, None, None),
        (900, 0, "miss", "miss"),  # the program's own cache, which it speaks of itself
        (0, 100, "hit", "hit"),
    ],
)
def test_a_cached_prompt_is_told_by_the_usage_unless_the_program_speaks_of_its_cache(
    read, written, said, result
):
    script = Script()
    script.recorder.add_usage(
        Usage(input_tokens=1000, cache_read_input_tokens=read, cache_write_input_tokens=written)
    )
    if said is not None:
        script.recorder.cache(said)
    assert script.finish(1).cache_result == result
