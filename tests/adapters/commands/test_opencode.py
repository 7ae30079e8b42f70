"""opencode: whole parts of each step."""

from __future__ import annotations

import pytest

from adapters.commands.captured import lines_of, read, stamped
from llmphases.adapters.commands.registry import format_for
from llmphases.calls import Usage
from llmphases.recorder.child_events import Answered, RequestSeen, Said

NAME = "opencode-json"
START = {"type": "step_start", "part": {}}


def finish(**tokens):
    return {"type": "step_finish", "part": {"reason": "stop", "tokens": tokens}}


def test_all_lines_come_with_the_answer_so_none_tells_when_it_was_ready():
    assert stamped(lines_of("opencode_json_1.18.33.jsonl"), NAME) == [
        (8327.5, Answered()),
        (
            8327.5,
            Said(
                usage=Usage(
                    input_tokens=12,
                    output_tokens=5,
                    cache_read_input_tokens=0,
                    cache_write_input_tokens=0,
                    reasoning_output_tokens=0,
                )
            ),
        ),
    ]


def test_a_further_step_is_a_further_request_and_usage_adds_up():
    found = read([START, finish(input=10, output=2), START, finish(input=20, output=3)], NAME)
    assert found == [
        Answered(),
        Said(usage=Usage(input_tokens=10, output_tokens=2)),
        RequestSeen(),
        Answered(),
        Said(usage=Usage(input_tokens=30, output_tokens=5)),
    ]


def test_input_gets_its_cached_tokens_back_and_output_its_reasoning():
    tokens = {"total": 38, "input": 10, "output": 2, "reasoning": 6,
              "cache": {"read": 15, "write": 5}}  # fmt: skip
    [_, last] = read([finish(**tokens)], NAME)
    assert last.usage == Usage(
        input_tokens=30,
        output_tokens=8,
        cache_read_input_tokens=15,
        cache_write_input_tokens=5,
        reasoning_output_tokens=6,
    )


def test_an_error_is_told_by_its_name():
    error = {"type": "error", "error": {"name": "ProviderAuthError", "data": {"message": "m"}}}
    assert read([error, {"type": "error"}], NAME) == [
        Said(error="ProviderAuthError"),
        Said(error="_OTHER"),
    ]


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["opencode", "run", "--format", "json", "hi"], NAME),
        (["opencode", "run", "hi"], "text"),
        (["opencode", "serve", "--format", "json"], "text"),
    ],
)
def test_the_format_is_told_by_the_options(argv, name):
    assert format_for(argv).name == name
