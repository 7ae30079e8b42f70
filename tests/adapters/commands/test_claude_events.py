"""Claude Code's stream, line by line: requests, tools, retries, agents inside it."""

from __future__ import annotations

import pytest

from adapters.commands.captured import lines_of, moments, read, said, stamped
from llmphases.adapters.commands.claude_events import error_of
from llmphases.calls import Usage
from llmphases.recorder.child_events import (
    Answered,
    Ready,
    RequestSeen,
    Retry,
    Said,
    Token,
    ToolResult,
)
from llmphases.recorder.streams import ANSWER, REASONING

NAME = "claude-stream-json"
PARTIAL = "claude_stream_json_partial_2.1.197.jsonl"
BARE = "claude_stream_json_bare_2.1.197.jsonl"
RETRY = "claude_stream_json_retry_2.1.197.jsonl"
USAGE = Usage(
    input_tokens=12_012,  # 12, and what was read from and written to the cache
    output_tokens=5,
    cache_read_input_tokens=9_000,
    cache_write_input_tokens=3_000,
)

INIT = {"type": "system", "subtype": "init", "model": "m"}


def stream(kind, **fields):
    return {
        "type": "stream_event",
        "parent_tool_use_id": None,
        "event": {"type": kind, **fields},
    }


def start(**usage):
    return stream("message_start", message={"id": "msg_01A", "model": "m", "usage": usage})


def text(piece="x"):
    return stream("content_block_delta", delta={"type": "text_delta", "text": piece})


STOP = stream("message_stop")


def assistant(*blocks, parent=None):
    return {
        "type": "assistant",
        "parent_tool_use_id": parent,
        "message": {"id": "msg_01A", "model": "m", "content": list(blocks)},
    }


def tool(name="t1"):
    return {"type": "tool_use", "id": name, "name": "Bash", "input": {}}


def result_of_tool(*names, parent=None):
    blocks = [{"type": "tool_result", "tool_use_id": name} for name in names]
    return {"type": "user", "parent_tool_use_id": parent, "message": {"content": blocks}}


RESULT = {"type": "result", "subtype": "success", "is_error": False}


def kinds(objects):
    return [type(event) for event in read(objects, NAME) if not isinstance(event, Said)]


def test_the_moments_of_a_stream_with_partial_messages_are_those_of_its_lines():
    assert moments(stamped(lines_of(PARTIAL), NAME)) == [
        (1273.1, Ready("init_event")),
        (1273.6, RequestSeen()),  # "requesting"
        (1627.8, RequestSeen()),  # message_start, which is no token
        (1970.1, Token(ANSWER)),
        (2061.0, Token(ANSWER)),
        (2161.3, Token(ANSWER)),
        (2271.0, Answered()),
    ]


def test_a_bare_stream_has_the_same_moments_at_its_own_times():
    assert moments(stamped(lines_of(BARE), NAME)) == [
        (3247.8, Ready("init_event")),
        (3247.9, RequestSeen()),
        (3540.7, RequestSeen()),
        (3905.8, Token(ANSWER)),
        (3990.6, Token(ANSWER)),
        (4092.5, Token(ANSWER)),
        (4206.9, Answered()),
    ]


def test_a_retry_tells_its_status_and_how_long_it_waits():
    assert moments(stamped(lines_of(RETRY), NAME)) == [
        (882.5, Ready("init_event")),
        (882.8, RequestSeen()),
        (920.0, Retry(reason="529", delay_ns=1_000_000_000)),
        (2191.8, RequestSeen()),
        (2536.0, Token(ANSWER)),
        (2639.1, Token(ANSWER)),
        (2741.1, Token(ANSWER)),
        (2851.7, Answered()),
    ]


def test_a_retry_after_a_lost_connection_has_no_status():
    retry = {"type": "system", "subtype": "api_retry", "error_status": None, "error": "unknown"}
    assert read([INIT, retry], NAME)[-1] == Retry(reason="unknown", delay_ns=None)


@pytest.mark.parametrize("name", [PARTIAL, BARE, RETRY])
def test_the_result_has_the_last_word_on_usage(name):
    assert said(stamped(lines_of(name), NAME))[-1].usage == USAGE


def test_model_provider_and_the_vendors_numbers_are_told():
    found = said(stamped(lines_of(PARTIAL), NAME))
    assert found[0] == Said(model="claude-sonnet-4-5")
    assert found[1] == Said(usage=USAGE, provider="anthropic")
    assert found[2].model == "claude-sonnet-4-5"
    assert found[2].reported.raw == {
        "duration_ms": 1218,
        "duration_api_ms": 943,
        "ttft_ms": 1201,
        "ttft_stream_ms": 566,
        "time_to_request_ms": 283,
        "num_turns": 1,
    }
    assert found[2].reported.generation_ns is None
    assert found[2].error is None


def test_tools_end_one_request_and_their_results_begin_the_next():
    objects = [INIT, start(), text(), assistant(tool()), STOP, result_of_tool("t1"),
               start(), text(), STOP, RESULT]  # fmt: skip
    assert kinds(objects) == [
        Ready, RequestSeen, Token, Answered, ToolResult,
        RequestSeen, Token, Answered,
    ]  # fmt: skip


def test_of_tools_side_by_side_the_last_result_counts():
    objects = [INIT, start(), assistant(tool("a")), assistant(tool("b")), STOP,
               result_of_tool("a"), result_of_tool("b")]  # fmt: skip
    assert kinds(objects) == [Ready, RequestSeen, Answered, ToolResult]


def test_results_in_one_line_count_once():
    objects = [INIT, start(), assistant(tool("a"), tool("b")), STOP, result_of_tool("a", "b")]
    assert kinds(objects) == [Ready, RequestSeen, Answered, ToolResult]


def test_a_result_that_comes_before_the_answer_is_complete_waits_for_it():
    objects = [INIT, start(), assistant(tool()), result_of_tool("t1"), text(), STOP]
    assert kinds(objects) == [Ready, RequestSeen, Token, Answered, ToolResult]


def test_what_an_agent_inside_a_tool_does_is_the_tools():
    inner = [
        {**start(), "parent_tool_use_id": "t1"},
        {**text(), "parent_tool_use_id": "t1"},
        assistant(tool("t2"), parent="t1"),
        result_of_tool("t2", parent="t1"),
        {"type": "system", "subtype": "status", "status": "requesting"},
        {"type": "system", "subtype": "api_retry", "error_status": 529},
    ]
    objects = [INIT, start(), assistant(tool("t1")), STOP, *inner, result_of_tool("t1")]
    assert kinds(objects) == [Ready, RequestSeen, Answered, ToolResult]


def test_without_partial_messages_there_are_no_tokens():
    thinking = assistant({"type": "thinking", "thinking": "hm"})
    objects = [INIT, thinking, assistant({"type": "text", "text": "ok"}), RESULT]
    assert kinds(objects) == [Ready, Answered]


def test_without_partial_messages_a_tool_ends_the_answer():
    objects = [INIT, assistant({"type": "text", "text": "ok"}), assistant(tool("a")),
               assistant(tool("b")), result_of_tool("a"), result_of_tool("b"),
               assistant({"type": "text", "text": "done"}), RESULT]  # fmt: skip
    assert kinds(objects) == [Ready, Answered, ToolResult, Answered]


def test_thinking_and_the_arguments_of_tools_are_tokens_and_empty_deltas_are_none():
    deltas = [
        {"type": "thinking_delta", "thinking": "hm"},
        {"type": "thinking_delta", "thinking": ""},
        {"type": "signature_delta", "signature": "abc"},
        {"type": "input_json_delta", "partial_json": ""},
        {"type": "input_json_delta", "partial_json": "{"},
        {"type": "text_delta", "text": ""},
    ]
    objects = [INIT, start(), *(stream("content_block_delta", delta=delta) for delta in deltas)]
    found = [event for event in read(objects, NAME) if isinstance(event, Token)]
    assert found == [Token(REASONING), Token(ANSWER)]


def test_usage_of_several_requests_adds_up_until_the_result_says_it():
    one = [start(input_tokens=10, output_tokens=1),
           stream("message_delta", usage={"output_tokens": 4}), STOP]  # fmt: skip
    two = [start(input_tokens=20, output_tokens=1),
           stream("message_delta", usage={"output_tokens": 6}), STOP]  # fmt: skip
    last = {**RESULT, "usage": {"input_tokens": 31, "output_tokens": 11}}
    found = [event.usage for event in said(read([INIT, *one, *two, last], NAME)) if event.usage]
    assert [(usage.input_tokens, usage.output_tokens) for usage in found] == [
        (10, 4),
        (30, 10),
        (31, 11),
    ]


def test_a_run_that_failed_leaves_its_request_unanswered():
    failed = {"type": "result", "subtype": "error_during_execution", "errors": ["x"]}
    found = read([INIT, failed], NAME)
    assert found == [Ready("init_event"), Said(model="m"), Said(error="error_during_execution")]


@pytest.mark.parametrize(
    ("result", "error"),
    [
        ({"subtype": "success", "is_error": False}, None),
        ({"subtype": "success"}, None),
        ({"subtype": "error_max_turns"}, "error_max_turns"),
        ({"subtype": "success", "is_error": True, "api_error_status": 529}, "529"),
        ({"subtype": "success", "is_error": True, "api_error_status": None}, "_OTHER"),
        ({"subtype": 7, "is_error": "no"}, None),
    ],
)
def test_the_result_tells_why_a_run_failed(result, error):
    assert error_of(result) == error


def test_a_second_init_begins_another_request():
    objects = [INIT, start(), text(), STOP, RESULT, INIT]
    assert kinds(objects)[-2:] == [Answered, RequestSeen]
