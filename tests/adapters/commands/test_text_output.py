from __future__ import annotations

import pytest

from llmphases.adapters.commands.text_output import TextOutput
from llmphases.capture.children.formats import STDERR, STDOUT
from llmphases.recorder.child_events import Said


def echo(line):
    return [Said(model=line)]


def test_stdout_is_text_and_stderr_says_nothing():
    reader = TextOutput()
    assert reader.line(STDOUT, b"hello") is None
    assert reader.line(STDERR, b"warning") == ()
    assert list(reader.end()) == []


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        (b"a b", "a b"),
        (b"a\r", "a"),
        (b"\x1b[33ma\x1b[0m", "a"),
        (b"\x1b]0;t\x07a\x08", "a"),
        (b"a\xff", "a\N{REPLACEMENT CHARACTER}"),
    ],
)
def test_a_line_of_stderr_is_read_without_what_no_one_sees(line, seen):
    assert TextOutput(stderr=echo).line(STDERR, line) == [Said(model=seen)]


def test_a_long_line_is_no_report():
    assert TextOutput(stderr=echo).line(STDERR, b"x" * 5_000_000) == ()


def test_the_end_is_asked_for():
    assert TextOutput(at_end=lambda: echo("done")).end() == [Said(model="done")]
