"""Of the output of a tapped child counts what the tap cannot know."""

from __future__ import annotations

import json

import pytest

from capture.children.tap.test_moments import TappedChild, seconds
from llmphases.capture.children.formats import STDERR


@pytest.fixture
def claude(timed):
    return TappedChild("claude-stream-json")


def says(child, at, **event):
    child.out(at, json.dumps(event) + "\n")


def token(child, at):
    delta = {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "x"}}
    says(child, at, type="stream_event", event=delta)


def test_an_init_event_does_not_end_the_start_of_a_tapped_child(claude):
    says(claude, 0.5, type="system", subtype="init", model="m")
    request = claude.ask(0.8)
    request.tokens(1.5, 1)
    token(claude, 1.6)
    request.tokens(3.0, 1).ended(3.0)
    token(claude, 3.1)
    says(claude, 3.2, type="result", subtype="success", usage={"output_tokens": 7})
    call = claude.exit(4)
    assert seconds(call) == {
        "process_startup": 0.8, "time_to_first_token": 0.7, "generation": 1.5,
        "process_shutdown": 1.0,
    }  # fmt: skip
    assert call.first_token_rule == "tap"
    assert call.usage.output_tokens == 7
    assert call.requests == 1
    assert call.response_model == "m"


def test_a_tool_ran_between_two_requests(claude):
    says(claude, 0.5, type="system", subtype="init")
    claude.ask(1.0).tokens(2.0, 1).tokens(3.0, 1).ended(3.0)
    says(
        claude, 3.1, type="assistant", message={"content": [{"type": "tool_use", "id": "t"}]}
    )  # fmt: skip
    says(
        claude, 5.5, type="user", message={"content": [{"type": "tool_result", "tool_use_id": "t"}]}
    )
    claude.ask(5.6).tokens(6.0, 1).tokens(7.0, 1).ended(7.0)
    call = claude.exit(7.5)
    assert seconds(call) == {
        "process_startup": 1, "time_to_first_token": 1.4, "generation": 2, "tool": 2.5,
        "process_shutdown": 0.5,
    }  # fmt: skip
    assert call.unattributed_ns == 100_000_000


def test_a_tool_whose_result_is_printed_late_ran_until_the_next_request(claude):
    claude.ask(1.0).tokens(2.0, 1).ended(2.0)
    says(
        claude, 2.1, type="assistant", message={"content": [{"type": "tool_use", "id": "t"}]}
    )  # fmt: skip
    second = claude.ask(3.0).tokens(4.0, 1)
    says(
        claude, 3.5, type="user", message={"content": [{"type": "tool_result", "tool_use_id": "t"}]}
    )
    second.ended(4.5)
    assert seconds(claude.exit(5))["tool"] == 1


def test_a_retry_that_the_program_tells_of_is_counted_once(claude):
    says(claude, 0.5, type="system", subtype="init")
    claude.ask(1.0).headers(1.5, 529).failed(1.5, "529")
    says(claude, 1.6, type="system", subtype="api_retry", retry_delay_ms=1000, error_status=529)
    claude.ask(2.6).tokens(3.0, 1).ended(4.0)
    call = claude.exit(4)
    assert (call.requests, call.retries) == (2, 1)
    assert seconds(call)["retry"] == 1.6


def test_without_any_request_seen_the_output_tells_as_ever(claude):
    says(claude, 1.2, type="system", subtype="init", model="m")
    for at in (2, 2.5, 2.7, 3):
        token(claude, at)
    says(claude, 3, type="result", subtype="success", usage={"output_tokens": 7})
    call = claude.exit(3.5)
    assert seconds(call) == {
        "process_startup": 1.2, "time_to_first_token": 0.8, "generation": 1,
        "process_shutdown": 0.5,
    }  # fmt: skip
    assert call.first_token_rule == "init_event"
    assert call.usage.output_tokens == 7


def test_a_long_answer_is_not_kept_token_by_token(claude):
    says(claude, 0.1, type="system", subtype="init")
    for n in range(1000):
        token(claude, 1 + n / 1000)
    assert len(claude.seen._told._events) < 10
    says(claude, 2, type="result", subtype="success")
    assert seconds(claude.exit(3))["generation"] == 0.999


def test_the_programs_own_word_for_a_failure_is_kept(claude):
    claude.ask(1.0).failed(1.5, "401")
    says(claude, 1.6, type="result", subtype="error_during_execution", is_error=True, errors=["x"])
    assert claude.seen.error_type == "error_during_execution"
    call = claude.exit(2, 1)
    assert call.requests == 1
    assert seconds(call)["retry"] == 0.5


def test_what_the_server_says_of_the_only_request_is_compared_with_it(timed):
    child = TappedChild("ollama")
    child.ask(1.0).headers(1.1, 200).ended(3.0)
    said = "prompt eval duration: 500ms\neval duration: 1.4s\n"
    child.seen.output(STDERR, said.encode(), child.at(3.1))
    call = child.exit(4)
    assert call.reported_trusted
    assert seconds(call) == {"process_startup": 1, "inference": 2}
