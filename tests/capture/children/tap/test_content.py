"""Which bytes of an answer's body are tokens."""

from __future__ import annotations

import json
import zlib

import pytest

from capture.children.tap.peers import DONE, ROLE, event, reading
from llmphases.capture.children.tap.content import COMPLETE, FAILURE, Content, EventLines

kind_of = reading().kind_of


def content(kind=b"text/event-stream", **more):
    headers = [
        (b"Content-Type", kind),
        *((k.replace("_", "-").encode(), v) for k, v in more.items()),
    ]
    return Content(headers, kind_of)


def test_an_empty_role_frame_is_no_token():
    """RC-020"""
    body = content(b"text/event-stream; charset=utf-8")
    assert [body.feed(piece) for piece in (ROLE, b": ping\n\n", event(b"a"), DONE)] == [0, 0, 1, 0]


def test_events_in_any_pieces_are_read_once_they_are_whole():
    whole = ROLE + event(b"a").replace(b"\n", b"\r\n") + event(b"b")
    for size in (1, 7, 100):
        body = content()
        pieces = [whole[i : i + size] for i in range(0, len(whole), size)]
        found = [body.feed(piece) for piece in pieces]
        assert sum(found) == 2
        assert found[0] == 0


@pytest.mark.parametrize(
    ("kind", "line", "expected"),
    [
        (b"application/x-ndjson", {"model": "m", "message": {"content": "a"}, "done": False}, 1),
        (
            b"application/x-ndjson",
            {"model": "m", "message": {"content": "", "thinking": "a"}, "done": False},
            2,
        ),
        (b"application/x-ndjson", {"error": "no such model"}, FAILURE),
        (b"text/event-stream", {"type": "response.output_text.delta", "delta": "a"}, 1),
        (b"text/event-stream", {"type": "response.completed", "response": {}}, COMPLETE),
        (b"text/event-stream", {"type": "ping"}, 0),
    ],
)
def test_other_apis(kind, line, expected):
    data = json.dumps(line).encode() + b"\n"
    prefix = b"data: " if kind == b"text/event-stream" else b""
    assert content(kind).feed(prefix + data) == expected


@pytest.mark.parametrize(
    "odd", [b"data: {\n", b"data: [1]\n", b"data: 7\n", b"\xff\xfe\n", b"{}\n"]
)
def test_what_is_no_event_is_no_token(odd):
    assert content().feed(odd) == 0


def test_a_body_that_comes_whole_has_no_tokens():
    body = content(b"application/json")
    assert (body.is_stream, body.feed(b'{"choices": [{"message": {"content": "a"}}]}')) == (
        False,
        0,
    )


@pytest.mark.parametrize("coding", [b"gzip", b"deflate"])
def test_compressed_bodies_are_read(coding):
    packer = zlib.compressobj(wbits=31 if coding == b"gzip" else 15)
    body = content(content_encoding=coding)
    for text, expected in ((ROLE, 0), (event(b"a"), 1)):
        assert body.feed(packer.compress(text) + packer.flush(zlib.Z_SYNC_FLUSH)) == expected
    assert body.is_readable


@pytest.mark.parametrize(
    "headers", [{"content_encoding": b"br"}, {"kind": b"application/vnd.amazon.eventstream"}]
)
def test_of_streams_that_cannot_be_read_each_byte_counts(headers):
    body = content(**headers)
    assert (body.is_readable, body.feed(b"\x00")) == (False, 1)


def test_a_compression_that_is_none_cannot_be_read():
    body = content(content_encoding=b"gzip")
    assert (body.feed(b"plain text"), body.is_readable) == (1, False)


def test_a_line_without_an_end_is_not_kept():
    lines = EventLines(kind_of)
    for _ in range(100):
        lines.feed(b"x" * 100_000)
        assert len(lines._rest) <= 1 << 20
    assert lines.feed(b"\n" + event(b"a")) == 1
