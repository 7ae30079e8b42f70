"""Requests of the child: which may pass, and how they are readdressed. The rest: test_relay.py."""

from __future__ import annotations

import h11
import pytest

from llmphases.capture.children.tap.requests import (
    asking_for_what_can_be_read,
    path_behind,
    readdressed,
)


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (b"/key/v1/messages?beta=true", b"/v1/messages?beta=true"),
        (b"/key", b"/"),
        (b"/key/", b"/"),
        (b"/key?a=b", b"/?a=b"),
        (b"/keys/v1", None),
        (b"/ke", None),
        (b"/", None),
        (b"*", None),
        (b"http://127.0.0.1/key/v1", None),
    ],
)
def test_the_secret_comes_first(target, expected):
    assert path_behind(b"key", target) == expected


def request(*headers, version=b"1.1"):
    return h11.Request(
        method="POST", target="/", headers=[("hOST", "here"), *headers], http_version=version
    )


def test_host_and_path_change_and_extensions_of_websocket_go():
    asked = request(("X-Key", "1"), ("Sec-WebSocket-Extensions", "permessage-deflate"))
    sent = readdressed(asked, b"/v1", b"there:80", [(b"Proxy-Authorization", b"Basic x")])
    assert sent.target == b"/v1"
    assert sent.headers.raw_items() == [
        (b"hOST", b"there:80"), (b"X-Key", b"1"), (b"Proxy-Authorization", b"Basic x"),
    ]  # fmt: skip


def test_the_version_stays():
    assert readdressed(request(version=b"1.0"), b"/", b"x", []).http_version == b"1.0"


@pytest.mark.parametrize(
    ("accepted", "expected"),
    [
        (b"gzip, deflate, br, zstd", b"gzip, deflate"),
        (b"br;q=1.0, GZIP;q=0.5", b"GZIP;q=0.5"),
        (b"br", b"identity"),
        (b"*", b"identity"),
        (b"identity", b"identity"),
    ],
)
def test_no_compression_is_accepted_that_cannot_be_undone(accepted, expected):
    sent = asking_for_what_can_be_read(request(("Accept-Encoding", accepted)))
    assert dict(sent.headers)[b"accept-encoding"] == expected


def test_who_does_not_speak_of_compression_still_does_not():
    sent = asking_for_what_can_be_read(request(("X-Key", "1")))
    assert [name for name, _ in sent.headers] == [b"host", b"x-key"]
