"""Lines, and when each began to arrive."""

from hypothesis import given
from hypothesis import strategies as st

from llmphases.capture.children.lines import Line, LineSplitter


def split(*pieces, longest=100):
    splitter = LineSplitter(longest)
    found = [line for at, piece in enumerate(pieces, 1) for line in splitter.feed(piece, at)]
    return found + list(splitter.end(len(pieces)))


def test_a_line_begins_with_its_first_byte():
    """RC-065"""
    assert split(b"ab", b"c\nd", b"\n") == [Line(b"abc", 1, 2), Line(b"d", 2, 3)]


def test_a_last_line_needs_no_line_feed():
    assert split(b"a\nb") == [Line(b"a", 1, 1), Line(b"b", 1, 1)]


def test_an_empty_line_is_a_line():
    assert split(b"\n\n") == [Line(b"", 1, 1), Line(b"", 1, 1)]


def test_a_line_that_is_too_long_is_cut_and_the_next_is_not():
    assert split(b"abc", b"def\ngh\n", longest=4) == [Line(b"abcd", 1, 2, True), Line(b"gh", 2, 2)]


def test_a_line_that_is_too_long_takes_no_more_memory():
    splitter = LineSplitter(1000)
    for _ in range(1000):
        assert list(splitter.feed(b"x" * 1000, 1)) == []
    assert sum(map(len, splitter._held)) == 1000


@given(st.lists(st.binary(max_size=12)))
def test_nothing_is_lost_however_it_is_cut(pieces):
    whole = b"".join(pieces)
    expected = whole.split(b"\n")
    if not expected[-1]:
        expected.pop()
    assert [line.data for line in split(*pieces, longest=10_000)] == expected
