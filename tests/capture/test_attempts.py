"""A request that is sent again, and one that a block of the program has asked already."""

from __future__ import annotations

import pytest

from llmphases import llm_call
from llmphases.capture.attempts import Attempts
from llmphases.capture.current import frame_here, recorder_of
from llmphases.recorder.reported import ReportedTimes

S = 1_000_000_000


@pytest.fixture
def attempts(timed_calls):
    with llm_call("mine"):
        yield Attempts(recorder_of(frame_here()), None)


def seconds(call):
    return {phase.value: ns / S for phase, ns in call.exclusive_ns.items()}


def test_after_a_failure_it_is_asked_again(attempts, timed_calls, clock):
    call = attempts.call
    attempts.ask()
    clock.tick(1)
    attempts.attempt_failed("503")
    clock.tick(2)
    attempts.ask()
    attempts.ask()  # it is open: nothing goes out
    clock.tick(3)
    attempts.attempt_ended(clock.now())
    record = call.finish(clock.now())
    assert (seconds(record), record.retries) == ({"retry": 3, "inference": 3}, 1)


def test_before_anything_was_asked_nothing_fails_or_ends(attempts, clock):
    attempts.attempt_failed("503")
    attempts.attempt_ended(clock.now())
    assert attempts.call.finish(clock.now()).requests == 0


def test_what_the_server_says_is_of_its_newest_request(attempts, clock):
    attempts.ask()
    clock.tick(3)
    attempts.report(ReportedTimes(prefill_ns=S, generation_ns=S, raw={"n": 1}))
    attempts.attempt_ended(clock.now())
    record = attempts.call.finish(clock.now())
    assert seconds(record) == {"time_to_first_token": 2, "generation": 1}


def test_the_request_of_a_block_is_taken_over_once(attempts, clock):
    attempts.ask()
    first, second = (Attempts(attempts.call, None) for _ in range(2))
    first.take_over(attempts)
    first.ask()
    assert first.request is attempts.request
    first.attempt_ended(clock.now())
    second.take_over(attempts)
    second.ask()
    assert second.request is not attempts.request
