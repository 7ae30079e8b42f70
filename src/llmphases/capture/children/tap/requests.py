"""The requests on one connection of the child, taken apart."""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Callable

import h11

from llmphases.capture.children.tap.exchange import LARGEST_HEAD
from llmphases.capture.children.tap.sockets import PIECE

Headers = list[tuple[bytes, bytes]]

_READABLE_CODINGS = frozenset({b"gzip", b"x-gzip", b"deflate", b"identity"})


class Requests:
    """Reads one request after the other; raises `h11.RemoteProtocolError` for what is none."""

    def __init__(self, reader: asyncio.StreamReader, now: Callable[[], int]) -> None:
        self._reader = reader
        self._now = now
        self._talk = _talk()
        self._latest_ns = 0
        self.first_ns = 0
        """When the first byte of the newest request came."""

    async def next_head(self) -> h11.Request | None:
        """The head of the next request; None if there is none."""
        rest, is_closed = self._talk.trailing_data
        self._talk = _talk()
        self.first_ns = self._latest_ns if rest else 0
        if rest:
            self._talk.receive_data(rest)
        if is_closed:
            self._talk.receive_data(b"")
        event = await self.next_event()
        return event if isinstance(event, h11.Request) else None

    async def next_event(self) -> h11.Event:
        """The next piece of a request."""
        while (event := self._talk.next_event()) is h11.NEED_DATA:
            data = await self._reader.read(PIECE)
            self._latest_ns = self._now()
            self.first_ns = self.first_ns or self._latest_ns
            self._talk.receive_data(data)
        assert isinstance(event, h11.Event)
        return event

    def rest(self) -> bytes:
        """What came after the end of the newest request."""
        return self._talk.trailing_data[0]


def _talk() -> h11.Connection:
    return h11.Connection(h11.SERVER, max_incomplete_event_size=LARGEST_HEAD)


def path_behind(secret: bytes, target: bytes) -> bytes | None:
    """What a request asks for, without the secret before it; None if that is not there."""
    prefix = b"/" + secret
    rest = target[len(prefix) :]
    if not hmac.compare_digest(target[: len(prefix)], prefix) or rest[:1] not in (b"", b"/", b"?"):
        return None
    return rest if rest.startswith(b"/") else b"/" + rest


def readdressed(head: h11.Request, target: bytes, authority: bytes, more: Headers) -> h11.Request:
    """The same request to another server."""
    headers: Headers = []
    for name, value in head.headers.raw_items():
        match name.lower():
            case b"host":
                headers.append((name, authority))
            case b"sec-websocket-extensions":  # messages are to be read, and compressed nobody can
                continue
            case _:
                headers.append((name, value))
    return h11.Request(
        method=head.method, target=target, headers=headers + more, http_version=head.http_version
    )


def asking_for_what_can_be_read(head: h11.Request) -> h11.Request:
    """The same request, which accepts no compression that the tap cannot undo."""
    headers = [
        (name, _readable(value) if name.lower() == b"accept-encoding" else value)
        for name, value in head.headers.raw_items()
    ]
    return h11.Request(
        method=head.method, target=head.target, headers=headers, http_version=head.http_version
    )


def _readable(accepted: bytes) -> bytes:
    codings = [coding.strip() for coding in accepted.split(b",")]
    kept = [c for c in codings if c.partition(b";")[0].strip().lower() in _READABLE_CODINGS]
    return b", ".join(kept) or b"identity"
