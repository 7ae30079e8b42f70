"""GitHub Copilot CLI: a line for each event of its session."""

from __future__ import annotations

import pytest

from adapters.commands.captured import lines_of, moments, read, said, stamped
from llmphases.adapters.commands.registry import format_for
from llmphases.recorder.child_events import (
    Answered,
    Ready,
    RequestSeen,
    Retry,
    Said,
    Token,
    ToolResult,
)
from llmphases.recorder.reported import ReportedTimes
from llmphases.recorder.streams import ANSWER, REASONING

NAME = "copilot-json"
TURN = {"type": "assistant.turn_start", "data": {"turnId": "0"}}
CALL = {"type": "model.call_start", "data": {"model": "m"}}
DONE = {"type": "model.call_finished", "data": {"outcome": "success"}}


def event(kind, **data):
    return {"type": kind, "data": data}


def kinds(objects):
    return [type(found) for found in read(objects, NAME) if not isinstance(found, Said)]


def test_the_moments_of_a_session_are_those_of_its_lines():
    found = stamped(lines_of("copilot_json_1.0.102.jsonl"), NAME)
    assert moments(found) == [
        (1439.4, Ready("init_event")),  # before it the session is still being set up
        (1518.9, RequestSeen()),
        (2000.1, Token(ANSWER)),
        (2100.9, Token(ANSWER)),
        (2201.5, Token(ANSWER)),
        (2491.1, Answered()),
    ]
    assert said(found) == [
        Said(model="m"),
        Said(reported=ReportedTimes(raw={"totalApiDurationMs": 786, "sessionDurationMs": 1476})),
    ]


def test_reasoning_and_the_arguments_of_tools_are_tokens():
    objects = [
        TURN,
        CALL,
        event("assistant.reasoning_delta", deltaContent="hm"),
        event("assistant.tool_call_delta", inputDelta="{"),
        event("assistant.message_delta", deltaContent=""),
        event("assistant.message", content="whole"),
    ]
    assert read(objects, NAME)[3:] == [Token(REASONING), Token(ANSWER)]


def test_of_tools_side_by_side_the_last_one_counts():
    objects = [
        TURN, CALL, event("assistant.message_delta", deltaContent="x"), DONE,
        event("tool.execution_start", toolCallId="a"),
        event("tool.execution_start", toolCallId="b"),
        event("tool.execution_complete", toolCallId="a"),
        event("tool.execution_complete", toolCallId="b"),
        TURN, CALL, event("assistant.message_delta", deltaContent="x"), DONE,
        {"type": "result", "exitCode": 0},
    ]  # fmt: skip
    assert kinds(objects) == [
        Ready, RequestSeen, Token, Answered, ToolResult,
        RequestSeen, RequestSeen, Token, Answered,
    ]  # fmt: skip


def test_what_an_agent_inside_a_tool_does_is_the_tools():
    inner = event("assistant.message_delta", deltaContent="x", parentToolCallId="a")
    assert kinds([TURN, CALL, DONE, inner]) == [Ready, RequestSeen, Answered]


def test_a_failed_request_is_sent_again():
    failure = event("model.call_failure", source="top_level", statusCode=429)
    other = event("model.call_failure", source="subagent", statusCode=429)
    assert read([TURN, CALL, failure, other], NAME)[-1] == Retry(reason="429")
    assert kinds([TURN, CALL, failure, other, CALL]) == [Ready, RequestSeen, Retry, RequestSeen]


def test_an_error_of_the_session_leaves_its_request_unanswered():
    error = event("session.error", errorType="quota", message="m")
    assert read([TURN, error, {"type": "result", "exitCode": 1}], NAME) == [
        Ready("init_event"),
        Said(error="quota"),
    ]


@pytest.mark.parametrize(("options", "name"), [(["--output-format", "json"], NAME), ([], "text")])
def test_the_format_is_told_by_the_options(options, name):
    assert format_for(["copilot", "-p", "hi", *options]).name == name
