"""Qwen Code: Claude Code's events with another way to count."""

from __future__ import annotations

import json

import pytest

from adapters.commands.captured import lines_of, moments, read, said, stamped
from llmphases.adapters.commands.registry import format_for
from llmphases.calls import Usage
from llmphases.capture.children.formats import STDOUT
from llmphases.recorder.child_events import Answered, Ready, RequestSeen, Said, Token
from llmphases.recorder.streams import ANSWER

CAPTURE = "qwen_stream_json_partial_0.15.10.jsonl"


def test_the_moments_of_a_stream_are_those_of_its_lines():
    assert moments(stamped(lines_of(CAPTURE), "qwen-stream-json")) == [
        (3758.8, Ready("init_event")),
        (4255.3, RequestSeen()),
        (4255.3, Token(ANSWER)),
        (4353.8, Token(ANSWER)),
        (4454.0, Token(ANSWER)),
        (4635.0, Answered()),
    ]


def test_the_result_counts_the_request_that_nobody_saw():
    last = said(stamped(lines_of(CAPTURE), "qwen-stream-json"))[-1]
    assert last.usage == Usage(input_tokens=24, output_tokens=10, cache_read_input_tokens=0)
    assert last.reported.raw == {"duration_ms": 1879, "duration_api_ms": 864, "num_turns": 1}


def test_cached_tokens_are_in_the_input():
    usage = {"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 8}
    [_, last] = read([{"type": "result", "subtype": "success", "usage": usage}], "qwen-json")
    assert last.usage == Usage(input_tokens=10, output_tokens=1, cache_read_input_tokens=8)


def test_one_array_holds_all_events():
    events = [json.loads(line) for _, _, line in lines_of(CAPTURE)]
    found = stamped([(5460.0, STDOUT, json.dumps(events).encode())], "qwen-json")
    assert found[:3] == [
        (5460.0, Said(model="m")),
        (5460.0, Ready("own_clock", 1_879_000_000)),
        (5460.0, Answered()),
    ]
    assert found[3][1].usage.input_tokens == 24
    assert len(found) == 4


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (["--output-format", "stream-json", "--include-partial-messages"], "qwen-stream-json"),
        (["-o", "json"], "qwen-json"),
        ([], "text"),
    ],
)
def test_the_format_is_told_by_the_options(options, name):
    assert format_for(["qwen", "-p", "hi", *options]).name == name
