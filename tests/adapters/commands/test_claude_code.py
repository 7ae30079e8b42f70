"""Which of Claude Code's outputs is which, and what one object tells."""

from __future__ import annotations

import json

import pytest

from adapters.commands.captured import TEXT, lines_of, read, said, stamped
from llmphases.adapters.commands.registry import format_for
from llmphases.calls import Usage
from llmphases.capture.children.formats import STDERR, STDOUT
from llmphases.recorder.child_events import Answered, Ready, Said
from llmphases.recorder.reported import ReportedTimes


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["-p", "hi"], "claude-text"),
        (["hi"], "claude-text"),
        (["-p", "hi", "--output-format", "text"], "claude-text"),
        (["-p", "hi", "--output-format", "json"], "claude-json"),
        (["-p", "hi", "--output-format=json"], "claude-json"),
        (["--output-format", "stream-json", "--verbose", "-p", "hi"], "claude-stream-json"),
        (["-p", "--", "--output-format", "json"], "claude-text"),
        (["-p", "please use --output-format json"], "claude-text"),
        (["-p", "hi", "--output-format"], "claude-text"),
    ],
)
def test_the_output_format_is_the_one_that_was_asked_for(options, name):
    assert format_for(["claude", *options]).name == name


def test_text_comes_all_at_once_so_its_first_byte_tells_nothing():
    text = format_for(["claude", "-p", "hi"])
    assert text.is_text
    assert not text.streams


def test_one_object_tells_by_its_own_clock_when_the_request_went_out():
    lines = lines_of("claude_json_2.1.197.jsonl")
    ready, answered, last = stamped(lines, "claude-json")
    # 1,553 ms since its clock began, 560 of which passed before the request.
    assert ready == (3323.2, Ready("own_clock", 993_000_000))
    assert answered == (3323.2, Answered())
    assert last[1].usage == Usage(
        input_tokens=12_012,
        output_tokens=5,
        cache_read_input_tokens=9_000,
        cache_write_input_tokens=3_000,
    )
    assert last[1].model == "claude-sonnet-4-5"
    assert last[1].reported.raw["duration_api_ms"] == 1020


def test_rc_104_duration_ms_splits_the_wall_time():
    """RC-104: 2.0 s before anything, 0.9 s by the program's own clock, 0.7 s of them the API's."""
    line = {"type": "result", "subtype": "success", "duration_ms": 900, "duration_api_ms": 700}
    found = stamped([(2900, STDOUT, json.dumps(line).encode())], "claude-json")
    assert found == [
        (2900, Ready("own_clock", 900_000_000)),  # so it was ready at 2.0 s
        (2900, Answered()),
        (2900, Said(reported=ReportedTimes(raw={"duration_ms": 900, "duration_api_ms": 700}))),
    ]


def test_rc_104_what_is_longer_than_the_process_lived_is_handed_on_as_it_is():
    """RC-104: whether 162 s of a 3 s run are true is for those to judge who measured it."""
    found = read([{"type": "result", "duration_ms": 162_016}], "claude-json")
    assert found[0] == Ready("own_clock", 162_016_000_000)


def test_a_time_before_the_request_that_is_longer_than_the_whole_counts_as_the_whole():
    found = read([{"type": "result", "duration_ms": 5, "time_to_request_ms": 9}], "claude-json")
    assert found[0] == Ready("own_clock", 0)


def test_an_object_without_times_says_nothing_of_when_it_was_ready():
    found = read([{"type": "result", "subtype": "success", "duration_ms": "9"}], "claude-json")
    assert found == [Answered(), Said()]


def test_a_failed_run_has_no_answer():
    found = read([{"type": "result", "subtype": "error_max_turns"}], "claude-json")
    assert found == [Said(error="error_max_turns")]


def test_with_verbose_one_array_holds_all_events():
    events = [
        {"type": "system", "subtype": "init", "model": "m"},
        {"type": "assistant", "message": {"content": []}},
        7,
        {"type": "result", "subtype": "success", "duration_ms": 10},
    ]
    reader = format_for([], "claude-json").reader()
    assert reader.line(STDOUT, json.dumps(events).encode()) == [
        Said(model="m"),
        Ready("own_clock", 10_000_000),
        Answered(),
        Said(reported=ReportedTimes(raw={"duration_ms": 10})),
    ]


def test_text_where_json_was_expected_is_text():
    lines = [(1, STDOUT, b"Error: no such model"), (2, STDERR, b"warning")]
    assert stamped(lines, "claude-json") == [(1, TEXT)]
    assert stamped(lines, "claude-stream-json") == [(1, TEXT)]


def test_the_only_model_of_a_run_is_its_model():
    one = {"type": "result", "modelUsage": {"a": {}}}
    two = {"type": "result", "modelUsage": {"a": {}, "b": {}}}
    assert said(read([one], "claude-json"))[0].model == "a"
    assert said(read([two], "claude-json"))[0].model is None
