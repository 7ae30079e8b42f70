"""What holds for every format: nothing that a program prints makes it raise."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.commands.captured import DATA, lines_of
from llmphases.adapters.commands.registry import FORMATS, format_for
from llmphases.capture.children.formats import STDERR, STDOUT
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

EVENTS = (Answered, Ready, RequestSeen, Retry, Said, Token, ToolResult)
LARGEST = 2**63 - 1
CAPTURES = sorted(path.name for path in DATA.glob("*.jsonl"))

formats = pytest.mark.parametrize("one", FORMATS, ids=lambda one: one.name)


def words_of(value):
    """The names and short texts in captured output, so that what is made up comes near to it."""
    if isinstance(value, dict):
        return {*value, *(word for inner in value.values() for word in words_of(inner))}
    if isinstance(value, list):
        return {word for inner in value for word in words_of(inner)}
    return {value} if isinstance(value, str) and len(value) < 40 else set()


OBJECTS = [json.loads(line) for name in CAPTURES for _, s, line in lines_of(name) if s == STDOUT]
WORDS = sorted({word for one in OBJECTS for word in words_of(one)} | {
    "user", "tool_use", "tool_result", "item.started", "item.completed", "command_execution",
    "turn.failed", "api_retry", "error", "thinking_delta", "input_json_delta",
    "tool.execution_start", "tool.execution_complete", "model.call_failure",
})  # fmt: skip
TYPES = sorted({one["type"] for one in OBJECTS} | {"user", "error", "tool_use", "tool_result"})

STARTERS = ["sh", "-c", "env", "npx", "--", "claude"]

names = st.sampled_from(WORDS) | st.text(max_size=5)
scalars = (
    st.none() | st.booleans() | st.integers() | st.integers(min_value=LARGEST) | st.floats() | names
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=4,
)
objects = st.builds(
    lambda kind, rest: {**rest, "type": kind},
    st.sampled_from(TYPES) | values,
    st.dictionaries(names, values, max_size=4),
)


@st.composite
def bent(draw):
    """A captured object with one value in it replaced."""
    whole = json.loads(json.dumps(draw(st.sampled_from(OBJECTS))))
    at = whole
    while True:
        key = draw(st.sampled_from(sorted(at))) if at else "type"
        if isinstance(at.get(key), dict) and draw(st.booleans()):
            at = at[key]
            continue
        at[key] = draw(values)
        return whole


json_lines = (objects | bent() | values).map(lambda value: json.dumps(value).encode())
output = st.lists(
    st.tuples(st.sampled_from([STDOUT, STDERR]), json_lines | st.binary(max_size=20)), max_size=6
)


def all_events(one, lines):
    reader = one.reader()
    found = []
    for stream, line in lines:
        found += reader.line(stream, line) or ()
    return found + list(reader.end())


def assert_sound(event):
    assert isinstance(event, EVENTS)
    if isinstance(event, Token):
        assert event.kind in (ANSWER, REASONING)
    if isinstance(event, Ready):
        assert type(event.age_ns) is int
        assert 0 <= event.age_ns <= LARGEST
    if isinstance(event, Retry):
        assert event.delay_ns is None or 0 <= event.delay_ns <= LARGEST
        assert event.reason is None or isinstance(event.reason, str)
    if isinstance(event, Said):
        assert_sound_saying(event)


def assert_sound_saying(event):
    for text in (event.model, event.provider, event.error):
        assert text is None or (isinstance(text, str) and text)
    if event.usage is not None:
        for name in event.usage.__slots__:
            value = getattr(event.usage, name)
            assert value is None or (type(value) is int and 0 <= value <= LARGEST)
    if event.reported is not None:
        for value in event.reported.raw.values():
            assert type(value) in (int, float)
            assert abs(value) <= LARGEST


@pytest.mark.slow
@settings(max_examples=300)
@given(one=st.sampled_from(FORMATS), lines=output)
def test_arbitrary_output_never_raises_and_events_are_sound(one, lines):
    for event in all_events(one, lines):
        assert_sound(event)


@formats
@pytest.mark.parametrize("capture", CAPTURES)
def test_output_of_another_program_is_survived(one, capture):
    lines = [(stream, line) for _, stream, line in lines_of(capture)]
    for event in all_events(one, lines):
        assert_sound(event)


@formats
@pytest.mark.parametrize("capture", CAPTURES)
def test_line_ends_of_windows_change_nothing(one, capture):
    lines = [(stream, line) for _, stream, line in lines_of(capture)]
    with_cr = [(stream, line + b"\r") for stream, line in lines]
    assert all_events(one, with_cr) == all_events(one, lines)


@formats
@pytest.mark.parametrize("line", [b"", b"\x00" * 9, b"\xff" * 9, b"x" * 5_000_000, b"\r" * 9])
@pytest.mark.parametrize("stream", [STDOUT, STDERR, 7])
def test_a_line_of_any_kind_and_size_is_survived(one, stream, line):
    assert all_events(one, [(stream, line)]) == []


@given(st.lists(st.text() | st.sampled_from([*WORDS, *STARTERS])))
def test_any_command_line_has_a_format(argv):
    assert format_for(argv) in FORMATS


@given(st.text())
def test_any_line_for_a_shell_has_a_format(text):
    assert format_for(["sh", "-c", text]) in FORMATS


def test_nothing_that_was_printed_is_kept_in_what_is_said():
    """Of an answer and a prompt, no word is in any event."""
    lines = [line for name in CAPTURES for _, _, line in lines_of(name)]
    assert any(b"Hello there." in line for line in lines)
    for one in FORMATS:
        for name in CAPTURES:
            events = all_events(one, [(s, line) for _, s, line in lines_of(name)])
            assert "ello" not in repr(events)
