"""Codex: whole items, no tokens, no times of its own."""

from __future__ import annotations

import json

import pytest

from adapters.commands.captured import lines_of, moments, read, said, stamped
from llmphases.adapters.commands.registry import format_for
from llmphases.calls import Usage
from llmphases.capture.children.formats import STDOUT
from llmphases.recorder.child_events import (
    Answered,
    Ready,
    RequestSeen,
    Retry,
    Said,
    ToolResult,
)

NAME = "codex-json"
BEGIN = [{"type": "thread.started", "thread_id": "x"}, {"type": "turn.started"}]
END = {"type": "turn.completed", "usage": {"input_tokens": 1}}


def item(event, kind, name="item_0"):
    return {"type": f"item.{event}", "item": {"id": name, "type": kind}}


def kinds(objects):
    return [type(event) for event in read(objects, NAME) if not isinstance(event, Said)]


@pytest.mark.parametrize(
    ("capture", "ready", "turn", "answered"),
    [
        ("codex_json_0.171.0.jsonl", 224.6, 336.6, 1125.8),
        # One request failed and was sent again: nothing of that is printed.
        ("codex_json_retry_0.171.0.jsonl", 313.9, 338.3, 2147.5),
    ],
)
def test_the_moments_of_a_run_are_those_of_its_lines(capture, ready, turn, answered):
    found = stamped(lines_of(capture), NAME)
    assert moments(found) == [
        (ready, Ready("init_event")),
        (turn, RequestSeen()),
        (answered, Answered()),
    ]
    assert said(found) == [
        Said(
            usage=Usage(
                input_tokens=12_000,  # the cached ones are in it
                output_tokens=5,
                cache_read_input_tokens=9_000,
                cache_write_input_tokens=0,
                reasoning_output_tokens=0,
            )
        )
    ]


def test_rc_103_whole_items_are_no_tokens():
    """RC-103: start-up until the thread starts, then one answer whose tokens nobody saw."""
    lines = [
        (800, {"type": "thread.started", "thread_id": "x"}),
        (900, {"type": "turn.started"}),
        (4000, item("completed", "reasoning", "item_0")),
        (6000, item("completed", "agent_message", "item_1")),
        (6100, {"type": "turn.completed", "usage": {"input_tokens": 10, "output_tokens": 2}}),
    ]
    found = stamped([(at, STDOUT, json.dumps(one).encode()) for at, one in lines], NAME)
    assert found == [
        (800, Ready("init_event")),
        (900, RequestSeen()),
        (6100, Answered()),
        (6100, Said(usage=Usage(input_tokens=10, output_tokens=2))),
    ]


def test_usage_of_older_versions_has_the_cached_tokens_too():
    usage = {"input_tokens": 10, "cached_input_tokens": 8, "output_tokens": 2}
    found = read([*BEGIN, {"type": "turn.completed", "usage": usage}], NAME)
    assert found[-1].usage == Usage(input_tokens=10, output_tokens=2, cache_read_input_tokens=8)


def test_a_command_runs_between_two_requests():
    objects = [*BEGIN, item("started", "command_execution"), item("completed", "command_execution"),
               item("completed", "agent_message", "item_1"), END]  # fmt: skip
    assert kinds(objects) == [Ready, RequestSeen, Answered, ToolResult, Answered]


def test_of_commands_side_by_side_the_last_one_counts():
    objects = [*BEGIN, item("started", "command_execution", "a"),
               item("started", "mcp_tool_call", "b"),
               item("completed", "command_execution", "a"),
               item("completed", "mcp_tool_call", "b"), END]  # fmt: skip
    assert kinds(objects) == [Ready, RequestSeen, Answered, ToolResult, Answered]


def test_a_change_of_files_that_nobody_saw_start_ends_a_request():
    objects = [*BEGIN, item("completed", "file_change"), END]
    assert kinds(objects) == [Ready, RequestSeen, Answered, ToolResult, Answered]


@pytest.mark.parametrize("kind", ["web_search", "todo_list", "plan", "error", "new_kind", None])
def test_other_items_are_no_tools(kind):
    objects = [*BEGIN, item("started", kind), item("updated", kind), item("completed", kind), END]
    assert kinds(objects) == [Ready, RequestSeen, Answered]


def test_a_turn_that_failed_leaves_its_request_unanswered():
    failed = {"type": "turn.failed", "error": {"message": "unexpected status 401"}}
    assert read([*BEGIN, failed], NAME) == [
        Ready("init_event"),
        RequestSeen(),
        Said(error="turn.failed"),
    ]


def test_a_stream_that_broke_is_read_again():
    again = {"type": "error", "message": "Reconnecting... 1/5 (stream disconnected)"}
    other = {"type": "error", "message": "something else"}
    assert read([*BEGIN, again, other], NAME)[2:] == [Retry(reason="stream_disconnected")]


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["codex", "exec", "--json", "hi"], "codex-json"),
        (["codex", "-m", "x", "exec", "--skip-git-repo-check", "hi", "--json"], "codex-json"),
        (["codex", "e", "--experimental-json", "hi"], "codex-json"),
        (["codex", "exec", "hi"], "codex-text"),
        (["codex", "hi"], "text"),
        (["codex", "exec", "--", "--json"], "codex-text"),
    ],
)
def test_the_format_is_told_by_the_options(argv, name):
    assert format_for(argv).name == name
