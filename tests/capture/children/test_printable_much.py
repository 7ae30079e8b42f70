"""Programs that write very much at once."""

from __future__ import annotations

import pytest

from llmphases.capture.children.printable import PrintableText


@pytest.mark.parametrize(
    ("data", "is_text"),
    [
        (b"word " * 2000, True),
        (bytes(10_000) + b"x", True),
        ("ä".encode() * 5000, True),
        (b"\x1b[31mred\x1b[0m" * 1000, True),
        (bytes(10_000), False),
        (b"\x1b[0m\n" * 2000 + b"x", True),
        (b"\x1b\xff" * 5000, True),
        (b"\x1b]0;" + b"x" * 10_000, True),
        (b" \r\n\t" * 5000, False),
        (b"\x1b[31m\x1b[2K\x1b]0;title\x07\r\n" * 1000, False),
        (b"\x1b(B\x1b7\x1bP1$tq\x1b\\\x00" * 1000, False),
        (b"\x1b[31m" * 2000 + b"\x1b]0;ti", False),
    ],
    ids=[
        "words",
        "a letter far behind",
        "not ascii",
        "colours",
        "a letter behind sequences",
        "no sequences",
        "a title without end",
        "zeros",
        "blanks",
        "sequences",
        "sequences of other kinds",
        "a cut sequence",
    ],
)
def test_it_is_text_if_there_is_any_sign_in_it(data, is_text):
    text = PrintableText()
    text.feed(data, 5)
    text.end()
    assert (text.is_seen, text.first_ns) == ((True, 5) if is_text else (False, None))


def test_it_may_begin_and_end_within_a_control_sequence():
    text = PrintableText()
    text.feed(b"\x1b[0m" * 2000 + b"\x1b[3", 1)
    text.feed(b"1m" + b"\x1b[0m" * 2000 + b"\x1b]0;ti", 2)
    text.feed(b"tle\x07", 3)
    text.end()
    assert not text.is_seen
    text.feed(b"x" * 10_000 + b"\x1b[3", 4)
    text.feed(b"1m", 5)
    assert (text.first_ns, text.last_ns) == (4, 4)


def test_it_may_begin_and_end_within_a_character():
    text = PrintableText()
    text.feed("ä".encode()[:1], 1)
    text.feed("ä".encode()[1:] + b"x" * 10_000 + "ä".encode()[:1], 2)
    text.feed("ä".encode()[1:], 3)
    text.end()
    assert text.first_ns == 2
