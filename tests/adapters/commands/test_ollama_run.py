"""`ollama run`: text that streams, and the server's times."""

from __future__ import annotations

import pytest

from adapters.commands.captured import TEXT, stamped
from llmphases.adapters.commands.ollama_run import ns_of_duration
from llmphases.adapters.commands.registry import format_for
from llmphases.calls import Usage
from llmphases.capture.children.formats import STDERR, STDOUT
from llmphases.recorder.child_events import Said
from llmphases.recorder.reported import ReportedTimes

VERBOSE = b"""
total duration:       4.883583458s
load duration:        1.334875ms
prompt eval count:    26 token(s)
prompt eval duration: 342.546ms
prompt eval rate:     75.90 tokens/s
eval count:           282 token(s)
eval duration:        4.535599s
eval rate:            62.17 tokens/s"""


def read(text, stream=STDERR):
    return stamped([(None, stream, line) for line in text.split(b"\n")], "ollama")


def test_what_verbose_says_is_told_in_the_end():
    assert read(VERBOSE) == [
        (
            None,
            Said(
                usage=Usage(input_tokens=26, output_tokens=282),
                provider="ollama",
                reported=ReportedTimes(
                    queue_ns=1_334_875,
                    prefill_ns=342_546_000,
                    generation_ns=4_535_599_000,
                    raw={
                        "total_duration": 4_883_583_458,
                        "load_duration": 1_334_875,
                        "prompt_eval_duration": 342_546_000,
                        "eval_duration": 4_535_599_000,
                    },
                ),
            ),
        )
    ]


def test_lines_that_would_say_0_are_left_out():
    [(_, last)] = read(b"total duration: 1s\neval count: 3 token(s)\neval duration: 500ms")
    assert last.usage == Usage(output_tokens=3)
    assert last.reported.queue_ns is None
    assert last.reported.prefill_ns is None
    assert last.reported.generation_ns == 500_000_000


def test_a_terminals_control_sequences_do_not_hide_it():
    [(_, last)] = read(b"\x1b[?25l\x1b[2K\x1b[1G\x1b[?25htotal duration:       2s\r")
    assert last.reported.raw == {"total_duration": 2_000_000_000}


def test_without_verbose_nothing_is_said():
    assert read("⠋ pulling manifest\nError: no such model".encode()) == []


def test_the_answer_is_text():
    assert read(b"eval count: 3 token(s)", STDOUT) == [(None, TEXT)]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("4.883583458s", 4_883_583_458),
        ("1.334875ms", 1_334_875),
        ("1m2.5s", 62_500_000_000),
        ("1h0m0.5s", 3_600_500_000_000),
        ("250µs", 250_000),
        ("250μs", 250_000),
        ("250us", 250_000),
        ("17ns", 17),
        (".5s", 500_000_000),
        ("", None),
        ("5", None),
        ("s", None),
        ("1s ago", None),
        ("inf", None),
        ("-1s", None),
        ("999999999999999999h", None),
        ("1" * 400 + "s", None),
    ],
)
def test_durations_are_read_as_go_writes_them(text, ns):
    assert ns_of_duration(text) == ns


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        (["ollama", "run", "m", "hi", "--verbose"], "ollama"),
        (["ollama", "pull", "m"], "text"),
        (["ollama"], "text"),
    ],
)
def test_only_run_asks_a_model(argv, name):
    assert format_for(argv).name == name
