"""JSON on lines, JSON as a whole, and all that is neither."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from llmphases.adapters.commands.json_output import LARGEST, JsonLines, WholeJson
from llmphases.capture.children.formats import STDERR, STDOUT
from llmphases.recorder.child_events import RequestSeen, Said

SEEN = [RequestSeen()]


def lines():
    return JsonLines(lambda said: SEEN)


def whole():
    return WholeJson(lambda said: [Said(model=str(len(said)))])


@pytest.mark.parametrize(
    "line",
    [
        b'{"a": 1}',
        b'{"a": 1}\r',
        b'  {"a": 1}\t ',
        b'\xef\xbb\xbf{"a": 1}',
        b'\x1b[?25l\x1b[2K{"a": 1}\x1b[0m',
        b'\x1b]0;title\x07{"a": 1}',
        b'{"a": "\xff\xfe"}',
        b'{"a": NaN}',
        '{"a": "…"}'.encode(),
        b"{}",
    ],
)  # fmt: skip
def test_one_object_is_one_event(line):
    assert lines().line(STDOUT, line) == SEEN
    assert whole().line(STDOUT, line) == [Said(model="1")]


@pytest.mark.parametrize(
    "line",
    [b"hello", b"7", b'"text"', b"null", b'{"a": ', b'{"a": 1} x', b"{not json}", b"\xff\xfe",
     b"[" * 200_000, b'{"a":' * 200_000, b'{"a": ' + b"9" * 5000 + b"}", b"[1]"],
)  # fmt: skip
def test_any_other_line_is_text(line):
    assert lines().line(STDOUT, line) is None


@pytest.mark.parametrize("line", [b"", b"\r", b"  ", b"\x1b[0m"])
def test_a_line_of_which_nothing_is_seen_says_nothing(line):
    assert lines().line(STDOUT, line) == ()
    assert whole().line(STDOUT, line) == ()


@pytest.mark.parametrize("make", [lines, whole])
def test_stderr_is_never_part_of_it(make):
    assert make().line(STDERR, b'{"a": 1}') == ()
    assert make().line(STDERR, b"warning") == ()


@pytest.mark.parametrize("error", [KeyError, TypeError, AttributeError, ValueError, IndexError])
def test_an_event_that_is_not_as_documented_says_nothing(error):
    def fails(said):
        raise error

    assert JsonLines(fails).line(STDOUT, b"{}") == []
    assert WholeJson(fails).line(STDOUT, b"{}") == []


def test_a_line_of_5_mb_is_read():
    line = json.dumps({"text": "x" * 5_000_000}).encode()
    assert lines().line(STDOUT, line) == SEEN


def test_a_line_that_is_too_large_is_no_text_and_says_nothing():
    line = b'{"text": "' + b"x" * LARGEST + b'"}'
    assert lines().line(STDOUT, line) == ()
    assert whole().line(STDOUT, line) == ()


def test_blanks_at_the_end_of_a_long_line_take_no_time():
    line = b'{"text": "' + b" " * 4_000_000 + b'"}' + b" " * 100
    assert lines().line(STDOUT, line) == SEEN


def fed(reader, text):
    found = [reader.line(STDOUT, line) for line in text.split(b"\n")]
    return found, reader.end()


def test_an_object_over_many_lines_is_read_at_its_last_bracket():
    text = json.dumps({"a": [1, {"b": "}"}]}, indent=2).encode()
    found, end = fed(whole(), text)
    assert found[-1] == [Said(model="1")]
    assert all(one == () for one in found[:-1])
    assert end == ()


def test_an_array_hands_on_its_objects():
    text = json.dumps([{"a": 1}, 2, {"b": 3}], indent=1).encode()
    assert fed(whole(), text)[0][-1] == [Said(model="2")]


def test_an_object_laid_out_oddly_is_read_at_the_end():
    found, end = fed(whole(), b'{"a":\n1 }')
    assert found == [(), ()]
    assert end == [Said(model="1")]


def test_what_never_becomes_json_says_nothing():
    assert fed(whole(), b'{"a": 1\nhello') == ([(), ()], ())


def test_what_comes_before_is_text_and_what_comes_after_says_nothing():
    found, end = fed(whole(), b'[INFO] hi\nhello\n{"a": 1}\nbye')
    assert found == [None, None, [Said(model="1")], ()]
    assert end == ()


def test_many_lines_that_look_like_its_end_are_not_tried_forever():
    reader = whole()
    reader.line(STDOUT, b"{")
    for _ in range(100_000):
        reader.line(STDOUT, b"}")
    assert reader._tries < 10


def test_more_than_it_may_hold_is_given_up():
    reader, line = whole(), b'"' + b"x" * 1_000_000 + b'",'
    reader.line(STDOUT, b"[")
    tracemalloc.start()
    for _ in range(100):
        reader.line(STDOUT, line)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 1_000_000
    assert peak < 3 * LARGEST
    assert reader.end() == ()


def test_a_stream_of_lines_is_not_kept():
    reader, line = lines(), json.dumps({"text": "x" * 1_000_000}).encode()
    reader.line(STDOUT, line)
    tracemalloc.start()
    for _ in range(20):
        reader.line(STDOUT, line)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 100_000
