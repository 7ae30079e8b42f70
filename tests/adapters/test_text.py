"""Text and bytes: a program's own, or an HTTP body as it comes in."""

from __future__ import annotations

import pytest

from adapters.recorded import ANTHROPIC, OPENAI_CHAT, facts, kinds, text_of
from llmphases.adapters.chunks import shape_of
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, REASONING
from llmphases.adapters.text import TEXT, WIRE, is_wire

CONTENT = 'data: {"choices":[{"delta":{"content":"Hi"}}]}'
ROLE = 'data: {"choices":[{"delta":{"role":"assistant","content":""}}]}'
THOUGHT = 'data: {"choices":[{"delta":{"reasoning_content":"Hm"}}]}'


@pytest.mark.parametrize("chunk", ["Hi", b"Hi", bytearray(b"Hi"), " ", "\n"[:0] + "x: y"])
def test_text_that_is_not_empty_is_an_answer(chunk):
    assert kinds([chunk]) == [ANSWER] or not str(chunk).strip()


def test_the_kind_of_plain_text_is_the_built_in_bool():
    assert shape_of("Hi").kind is shape_of(b"Hi").kind is bool
    assert [shape_of("Hi").kind(text) for text in ("Hi", "")] == [ANSWER, NOT_A_TOKEN]
    assert shape_of("Hi").name == TEXT.name


@pytest.mark.parametrize(
    "first", [ROLE, "event: ping", ": OPENROUTER PROCESSING", "retry: 3000", '{"model":"m"', "\n"]
)
def test_the_first_chunk_tells_a_body_from_text(first):
    assert is_wire(first)
    assert is_wire(first.encode())
    assert shape_of(first).name == WIRE.name


@pytest.mark.parametrize("first", ["Hi", "data", "The data: 5", "event horizon", "id est", "{x}"])
def test_text_that_resembles_an_event_stays_text(first):
    assert not is_wire(first)


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        (CONTENT, ANSWER),
        (CONTENT.replace("data: ", "data:"), ANSWER),
        (THOUGHT, REASONING),
        (ROLE, NOT_A_TOKEN),
        ("data: [DONE]", NOT_A_TOKEN),
        ("data:", NOT_A_TOKEN),
        (": keep-alive", NOT_A_TOKEN),
        ('event: ping\ndata: {"type": "ping"}\n\n', NOT_A_TOKEN),
        ("id: 7", NOT_A_TOKEN),
        ("", NOT_A_TOKEN),
        ("\n\n", NOT_A_TOKEN),
        (f"{ROLE}\n\n{CONTENT}\n\n", ANSWER),
        (f"{ROLE}\r\n\r\n{THOUGHT}\r\n\r\n", REASONING),
        ("data: Hi", ANSWER),
        ('data: {"choices":[{"delta":{"con', NOT_A_TOKEN),
        ('tent":"Hi"}}]}\n\n', ANSWER),
        ('{"message":{"content":"Hi"},"done":false}\n', ANSWER),
        ('{"message":{"content":""},"done":true}\n', NOT_A_TOKEN),
        ('{"boxes": [1, 2]}', ANSWER),
        ("data: [1, 2]", NOT_A_TOKEN),
    ],
)
def test_what_a_piece_of_a_body_is(chunk, expected):
    assert (WIRE.kind(chunk), WIRE.kind(chunk.encode())) == (expected, expected)


def test_rc_020_pings_and_role_frames_before_the_first_token():
    lines = text_of(OPENAI_CHAT).splitlines()
    assert [i for i, kind in enumerate(kinds(lines)) if kind] == [4, 6, 8]


def test_an_event_with_a_line_separator_inside_is_one_event():
    assert WIRE.kind('data: {"choices":[{"delta":{"content":"\u2028"}}]}') == ANSWER


def test_bytes_that_are_no_text_are_no_fault():
    assert WIRE.kind(b"\xff\xfe") == ANSWER
    assert WIRE.facts(b"data: {\xff}") is None


def test_usage_is_heard_from_a_body_in_one_piece():
    body = text_of(ANTHROPIC).encode()
    assert facts([body]).usage.output_tokens == 5
    assert kinds([body]) == [ANSWER]
