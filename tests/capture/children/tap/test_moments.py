"""What the tap sees of a child's requests, as phases of its call. Times are told."""

from __future__ import annotations

import pytest

from llmphases.adapters.commands.registry import format_for
from llmphases.calls import ProcessUse
from llmphases.capture import current
from llmphases.capture.children.formats import STDOUT
from llmphases.capture.children.observation import ChildObservation
from llmphases.capture.children.tap.moments import TapMoments
from llmphases.recorder.recorder import Description

CHAT = "/v1/chat/completions"


class TappedChild:
    """A child that is spawned at second 0."""

    def __init__(self, format_name="llm"):
        self.moments = TapMoments()
        self.call = current.begin_call(Description(name="x"))
        self.seen = ChildObservation(
            self.call, format_for([], format_name), self.call.start_ns, self.call.context,
            self.moments,
        )  # fmt: skip

    def at(self, seconds):
        return self.call.start_ns + round(seconds * 1e9)

    def ask(self, seconds, target=CHAT):
        return Told(self, self.moments.request(self.at(seconds), target))

    def out(self, seconds, text):
        self.seen.output(STDOUT, text.encode(), self.at(seconds))
        return self

    def exit(self, seconds, code=0):
        self.seen.exited(self.at(seconds), code)
        self.seen.used(ProcessUse(exit_code=code))
        current.end_call(self.call, at_ns=self.at(seconds))
        return self.call.record


class Told:
    def __init__(self, child, lane):
        self.child, self.lane = child, lane

    def __getattr__(self, name):
        def tell(*seconds, **more):
            values = [self.child.at(one) if isinstance(one, float) else one for one in seconds]
            getattr(self.lane, name)(*values, **more)
            return self

        return tell


@pytest.fixture
def child(timed):
    return TappedChild()


def seconds(call):
    return {phase.value: round(ns / 1e9, 3) for phase, ns in call.exclusive_ns.items()}


def test_start_up_and_the_reading_of_the_prompt_are_told_apart(child):
    """RC-068: the same output without a tap is a start-up of two seconds."""
    child.ask(0.8).headers(1.0, 200).tokens(2.0, 1).tokens(9.8, 1).ended(9.81)
    child.out(2.01, "a").out(9.8, "b")
    call = child.exit(10)
    assert seconds(call) == {
        "process_startup": 0.8, "time_to_first_token": 1.2, "generation": 7.8,
        "process_shutdown": 0.2,
    }  # fmt: skip
    assert (call.first_token_rule, call.requests, call.retries) == ("tap", 1, 0)


def test_what_is_printed_after_the_last_token_is_not_the_way_out(child):
    child.ask(1.0).tokens(2.0, 1).tokens(3.0, 1).ended(3.0)
    call = child.out(4, "all of it").exit(4.5)
    assert seconds(call)["process_shutdown"] == 0.5
    assert call.unattributed_ns == 1_000_000_000


def test_details_of_the_wait_lie_one_after_the_other(child, timed):
    request = child.ask(1.0).connected(1.1, 1.2).sent(1.2, 1.4).headers(1.9, 200)
    request.tokens(2.0, 2).sent(2.0, 2.5).tokens(3.0, 1).ended(4.0)
    call = child.exit(4)
    details = [(d.name, d.start_ns / 1e9, d.end_ns / 1e9) for d in call.details]
    assert details == [("connect", 1.1, 1.2), ("send", 1.2, 1.4), ("headers", 1.4, 1.9)]
    wait = timed.one("time_to_first_token")
    assert timed.one("connect").parent.span_id == wait.context.span_id
    assert call.first_reasoning_ns == 2_000_000_000
    assert call.first_answer_ns == 3_000_000_000


def test_turns_one_after_the_other_and_side_by_side(child):
    one = child.ask(1.0)
    two = child.ask(1.0, "/v1/messages")
    one.tokens(2.0, 1)
    two.tokens(3.0, 1).tokens(4.0, 1).ended(4.0)
    one.tokens(5.0, 1).ended(5.0)
    child.ask(6.0).tokens(7.0, 1).ended(7.0)
    call = child.exit(8)
    assert [
        (s.phase.value, s.request, s.start_ns / 1e9, s.end_ns / 1e9)
        for s in call.stretches
        if s.request is not None
    ] == [
        ("time_to_first_token", 0, 1, 2),
        ("time_to_first_token", 1, 1, 3),
        ("generation", 0, 2, 5),
        ("generation", 1, 3, 4),
        ("time_to_first_token", 2, 6, 7),
        ("generation", 2, 7, 7),
    ]
    assert call.retries == 0


@pytest.mark.parametrize("reason", ["429", "503", "disconnected"])
def test_a_request_that_failed_is_a_retry_until_it_is_sent_again(child, timed, reason):
    child.ask(1.0).failed(2.0, reason)
    child.ask(4.0).tokens(5.0, 1).tokens(6.0, 1).ended(6.0)
    call = child.exit(6)
    assert seconds(call)["retry"] == 3
    assert seconds(call)["time_to_first_token"] == 1
    assert (call.requests, call.retries) == (2, 1)
    assert timed.one("retry").attributes["error.type"] == reason


def test_another_request_is_no_repetition_of_one_that_failed(child):
    child.ask(1.0, "/models/small:generateContent").failed(2.0, "404")
    child.ask(3.0, "/models/large:streamGenerateContent").tokens(4.0, 1).ended(5.0)
    call = child.exit(5)
    assert seconds(call)["retry"] == 1
    assert (call.requests, call.retries) == (2, 0)


def test_a_failure_among_parallel_requests_is_followed_by_its_own_repetition(child):
    other = child.ask(1.0, "/v1/messages")
    child.ask(1.0, CHAT).failed(2.0, "503")
    other.tokens(3.0, 1).tokens(4.0, 1).ended(4.0)
    child.ask(5.0, CHAT).tokens(6.0, 1).tokens(7.0, 1).ended(7.0)
    call = child.exit(7)
    (retry,) = [s for s in call.stretches if s.phase.value == "retry"]
    assert (retry.start_ns, retry.end_ns) == (1_000_000_000, 5_000_000_000)
    assert call.retries == 1


def test_a_stream_that_broke_keeps_what_it_gave(child):
    child.ask(0.0).tokens(1.0, 1).tokens(2.5, 1).failed(3.0, "disconnected")
    child.ask(4.0).tokens(5.0, 1).tokens(8.0, 1).ended(8.0)
    assert seconds(child.exit(8)) == {
        "process_startup": 0, "time_to_first_token": 2, "generation": 4.5, "retry": 1,
        "process_shutdown": 0,
    }  # fmt: skip


def test_a_child_that_hangs_up_and_asks_again_had_lost_patience(child):
    child.ask(1.0).abandoned(2.0)
    child.ask(3.0).tokens(4.0, 1).tokens(5.0, 1).ended(5.0)
    call = child.exit(5)
    assert seconds(call)["retry"] == 2
    assert call.retries == 1


def test_a_child_that_hangs_up_and_asks_something_else_had_not(child):
    child.ask(1.0).abandoned(2.0)
    child.ask(3.0, "/v1/responses").tokens(4.0, 1).ended(5.0)
    call = child.exit(5)
    assert seconds(call)["inference"] == 1
    assert call.retries == 0


def test_a_child_that_has_had_enough_of_an_answer_is_no_failure(child):
    child.ask(1.0).tokens(2.0, 1).tokens(3.0, 1).abandoned(3.5)
    call = child.exit(4)
    assert seconds(call)["generation"] == 1
    assert call.retries == 0


@pytest.mark.parametrize(("code", "phase"), [(0, "inference"), (1, "retry")])
def test_a_child_that_goes_without_an_answer(child, code, phase):
    child.ask(1.0).abandoned(2.0)
    assert seconds(child.exit(2, code))[phase] == 1


def test_an_answer_that_comes_whole_tells_no_first_token(child):
    child.ask(1.0).headers(4.0, 200).ended(4.0)
    call = child.exit(5)
    assert seconds(call) == {"process_startup": 1, "inference": 3}
    assert call.first_token_ns is None
    assert call.fixed_share is None


def test_bytes_in_the_place_of_tokens_are_marked_so(child):
    child.ask(1.0).tokens(2.0, 1, by_bytes=True).tokens(3.0, 1, by_bytes=True).ended(3.0)
    call = child.exit(3)
    assert seconds(call)["generation"] == 1
    assert call.first_token_rule == "tap_bytes"


def test_nothing_seen_is_said_and_changes_nothing(child, timed):
    call = child.out(2, "a").out(9.8, "b").exit(10)
    assert seconds(call) == {"process_startup": 2, "generation": 7.8, "process_shutdown": 0.2}
    assert call.first_token_rule == "first_byte"
    assert timed.one("process_startup").attributes["llmphases.tap.view"] == "nothing"


def test_a_connection_nobody_can_read_into_gives_times_and_no_phases(child, timed):
    child.moments.connection(child.at(0.5))
    child.moments.connection(child.at(0.6))
    for second in (0.7, 1.0, 3.0):
        child.moments.some_bytes(child.at(second))
    call = child.out(2, "a").out(9.8, "b").exit(10)
    assert seconds(call) == {"process_startup": 2, "generation": 7.8, "process_shutdown": 0.2}
    attributes = timed.one("process_startup").attributes
    assert {k: v for k, v in attributes.items() if ".tap." in k} == {
        "llmphases.tap.view": "bytes",
        "llmphases.tap.connect": 0.5,
        "llmphases.tap.first_byte": 0.7,
        "llmphases.tap.last_byte": 3.0,
    }


def test_what_is_told_after_the_end_changes_nothing(child):
    request = child.ask(1.0).tokens(2.0, 1).ended(3.0)
    call = child.exit(4)
    request.tokens(5.0, 1).failed(6.0, "x").abandoned(7.0)
    child.ask(8.0)
    assert child.call.record is call
