"""`llm`: text that streams, and one line on stderr."""

from __future__ import annotations

import pytest

from adapters.commands.captured import TEXT, raw_reads, stamped
from llmphases.adapters.commands.registry import format_for
from llmphases.calls import Usage
from llmphases.capture.children.formats import STDERR, STDOUT
from llmphases.recorder.child_events import Said


def usage_line(line, stream=STDERR):
    return stamped([(1, stream, line)], "llm")


def test_what_it_prints_is_text():
    reads = raw_reads("llm_text_0.36.txt")
    assert stamped(reads, "llm") == [(at, TEXT) for at in (2268.4, 2366.1, 2468.4, 2592.1)]


def test_the_usage_line_is_read_from_stderr():
    assert stamped(raw_reads("llm_usage_0.36.txt"), "llm") == [
        (4618.6, Said(usage=Usage(input_tokens=12, output_tokens=5))),
        (4628.0, TEXT),
    ]


@pytest.mark.parametrize(
    ("line", "usage"),
    [
        (b"Token usage: 12,345 input, 6,789 output", Usage(input_tokens=12345, output_tokens=6789)),
        (b"Token usage: 12 input", Usage(input_tokens=12)),
        (b"Token usage: 5 output", Usage(output_tokens=5)),
        (b'Token usage: 1 input, 2 output, {"a": 3}', Usage(input_tokens=1, output_tokens=2)),
        (b"\x1b[33m\x1b[1mToken usage: 1 input, 2 output\x1b[0m\r",
         Usage(input_tokens=1, output_tokens=2)),
    ],
)  # fmt: skip
def test_the_usage_line_may_be_written_in_several_ways(line, usage):
    assert usage_line(line) == [(1, Said(usage=usage))]


@pytest.mark.parametrize(
    "line",
    [b"Token usage:", b"Token usage: many input", b"Error", b"", b"\xff\xfe",
     b"Token usage: " + b"9" * 4000 + b" input"],
)  # fmt: skip
def test_other_lines_say_nothing(line):
    assert usage_line(line) == []


def test_the_same_words_in_an_answer_are_text():
    assert usage_line(b"Token usage: 1 input, 2 output", STDOUT) == [(1, TEXT)]


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["llm", "hi"], "llm"),
        (["llm", "-m", "m", "hi", "-u"], "llm"),
        (["llm", "prompt", "hi"], "llm"),
        (["llm", "hi", "--no-stream"], "llm-no-stream"),
        (["llm", "logs", "--json"], "text"),
        (["llm", "embed", "-c", "hi"], "text"),
    ],
)
def test_its_commands_that_ask_no_model_are_other_programs(argv, name):
    assert format_for(argv).name == name


def test_it_is_known_to_stream():
    assert format_for(["llm", "hi"]).streams
    assert not format_for(["llm", "hi", "--no-stream"]).streams
