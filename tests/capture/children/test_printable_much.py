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
        (b" \r\n\t" * 5000, False),
    ],
    ids=["words", "a letter far behind", "not ascii", "colours", "zeros", "blanks"],
)
def test_it_is_text_if_there_is_any_sign_in_it(data, is_text):
    text = PrintableText()
    text.feed(data, 5)
    text.end()
    assert (text.is_seen, text.first_ns) == ((True, 5) if is_text else (False, None))


def test_it_may_begin_and_end_within_a_character():
    text = PrintableText()
    text.feed("ä".encode()[:1], 1)
    text.feed("ä".encode()[1:] + b"x" * 10_000 + "ä".encode()[:1], 2)
    text.feed("ä".encode()[1:], 3)
    text.end()
    assert text.first_ns == 2
