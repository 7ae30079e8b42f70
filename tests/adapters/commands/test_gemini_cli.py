"""Gemini CLI: stream, one object, text."""

from __future__ import annotations

import json

import pytest

from adapters.commands.captured import DATA, TEXT, lines_of, moments, read, said, stamped
from llmphases.adapters.commands.registry import format_for
from llmphases.calls import Usage
from llmphases.capture.children.formats import STDOUT
from llmphases.recorder.child_events import Answered, Ready, Said, Token, ToolResult
from llmphases.recorder.reported import ReportedTimes
from llmphases.recorder.streams import ANSWER

STREAM, WHOLE = "gemini-stream-json", "gemini-json"
INIT = {"type": "init", "model": "m"}
DONE = {"type": "result", "status": "success"}


def message(content="x", role="assistant", **more):
    return {"type": "message", "role": role, "content": content, **more}


def kinds(objects):
    return [type(event) for event in read(objects, STREAM) if not isinstance(event, Said)]


def test_the_moments_of_a_stream_are_those_of_its_lines_and_the_echo_of_the_prompt_is_none():
    found = stamped(lines_of("gemini_stream_json_0.61.0.jsonl"), STREAM)
    assert moments(found) == [
        (4919.7, Ready("init_event")),
        (5263.3, Token(ANSWER)),
        (5349.2, Token(ANSWER)),
        (5433.7, Token(ANSWER)),
        (5539.8, Answered()),
    ]
    assert said(found) == [
        Said(model="gemini-2.5-flash"),
        Said(
            usage=Usage(input_tokens=12_000, output_tokens=5, cache_read_input_tokens=9_000),
            model="fake",
            reported=ReportedTimes(raw={"duration_ms": 632, "tool_calls": 0}),
        ),
    ]


def test_thoughts_are_in_the_total_only():
    stats = {"total_tokens": 130, "input_tokens": 100, "output_tokens": 10}
    found = read([INIT, {**DONE, "stats": stats}], STREAM)
    assert found[-1].usage == Usage(input_tokens=100, output_tokens=30)


def test_whole_messages_and_empty_deltas_are_no_tokens():
    objects = [INIT, message(), message("", delta=True), message("x", "user", delta=True), DONE]
    assert kinds(objects) == [Ready, Answered]


def test_tools_are_part_of_the_answer_and_their_last_result_begins_the_next():
    objects = [
        INIT,
        message(delta=True),
        {"type": "tool_use", "tool_name": "ls", "tool_id": "a"},
        {"type": "tool_use", "tool_name": "ls", "tool_id": "b"},
        {"type": "tool_result", "tool_id": "b"},
        {"type": "tool_result", "tool_id": "a"},
        message(delta=True),
        DONE,
    ]
    assert kinds(objects) == [Ready, Token, Token, Token, Answered, ToolResult, Token, Answered]


def test_a_run_that_failed_leaves_its_request_unanswered():
    failed = {"type": "result", "status": "error", "error": {"type": "FatalInputError"}}
    assert read([INIT, failed], STREAM)[-1] == Said(error="FatalInputError")
    assert kinds([INIT, failed]) == [Ready]


def whole_lines():
    text = (DATA / "gemini_json_0.61.0.json").read_bytes()
    return [(i, STDOUT, line) for i, line in enumerate(text.split(b"\n"))]


def test_one_object_laid_out_over_many_lines_is_read_at_its_last_one():
    lines = whole_lines()
    closing = max(at for at, _, line in lines if line == b"}")
    assert stamped(lines, WHOLE) == [
        (closing, Answered()),
        (
            closing,
            Said(
                usage=Usage(
                    input_tokens=12_000,
                    output_tokens=5,
                    cache_read_input_tokens=9_000,
                    reasoning_output_tokens=0,
                ),
                model="fake",
                reported=ReportedTimes(
                    raw={"totalLatencyMs": 576, "totalRequests": 1, "totalErrors": 0}
                ),
            ),
        ),
    ]


def test_several_models_add_up():
    model = {
        "api": {"totalLatencyMs": 10, "totalRequests": 1},
        "tokens": {"prompt": 5, "candidates": 2, "thoughts": 3, "tool": 1, "cached": 4},
    }
    [_, last] = read([{"stats": {"models": {"a": model, "b": model}}}], WHOLE)
    assert last.model is None
    assert last.usage == Usage(
        input_tokens=12, output_tokens=10, cache_read_input_tokens=8, reasoning_output_tokens=6
    )
    assert last.reported.raw == {"totalLatencyMs": 20, "totalRequests": 2}


def test_an_error_in_the_object_is_the_runs():
    error = {"error": {"type": "ApiError", "message": "m", "code": 401}, "stats": None}
    assert read([error], WHOLE) == [Said(error="ApiError")]


def test_a_line_before_the_object_is_text_and_does_not_hide_it():
    lines = [(0, STDOUT, b"Loaded cached credentials."), (1, STDOUT, b"[INFO] ready"),
             *whole_lines()]  # fmt: skip
    found = stamped(lines, WHOLE)
    assert found[:2] == [(0, TEXT), (1, TEXT)]
    assert found[2][1] == Answered()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ([], "gemini-text"),
        (["--output-format", "json"], "gemini-json"),
        (["-o", "stream-json"], "gemini-stream-json"),
    ],
)
def test_the_format_is_told_by_the_options(options, name):
    assert format_for(["gemini", "-p", "hi", *options]).name == name


def test_text_is_written_as_it_comes():
    assert format_for(["gemini", "-p", "hi"]).streams


def test_an_object_on_one_line_is_read_as_well():
    text = json.dumps(json.loads((DATA / "gemini_json_0.61.0.json").read_text()))
    assert stamped([(3, STDOUT, text.encode())], WHOLE)[0] == (3, Answered())
