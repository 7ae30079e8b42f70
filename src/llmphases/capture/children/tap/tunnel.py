"""One connection of the child that comes by `CONNECT`: its bytes go through unread."""

from __future__ import annotations

import asyncio
import base64
import hmac
from collections.abc import Callable
from dataclasses import dataclass

import h11

from llmphases.capture.children.tap.contract import Seen
from llmphases.capture.children.tap.requests import Requests
from llmphases.capture.children.tap.sockets import close, copy, prompt, reset
from llmphases.capture.children.tap.upstream import Streams, Upstream

USER = "llmphases"

_GO_ON = b"HTTP/1.1 200 Connection established\r\n\r\n"
_WHO = (
    b"HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=llmphases\r\n"
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)
_NO = b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
_UNREACHABLE = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """What all connections that come by `CONNECT` have in common."""

    secret: bytes
    upstream_for: Callable[[str], Upstream | None]
    """Of `https://host:port`: how it is reached."""
    seen: Seen
    now: Callable[[], int]
    unreachable: Callable[[OSError], None]
    """Hears of a server that cannot be reached."""


class Tunnel:
    """`run` lasts as long as the connection does."""

    def __init__(self, child: Streams, door: Door) -> None:
        self._reader, self._writer = child
        self._door = door
        self._requests = Requests(self._reader, door.now)
        self._server: Streams | None = None

    async def run(self) -> None:
        """Until both sides are done."""
        prompt(self._writer)
        end = reset
        try:
            head = await self._requests.next_head()
            if head is not None:
                refusal = await self._refusal(head)
                self._writer.write(refusal or _GO_ON)
                await self._writer.drain()
                if self._server is not None:
                    await self._both_ways(self._server)
            end = close
        except* (OSError, h11.ProtocolError):
            pass  # one side has broken off: so does the other
        finally:
            end(self._writer)
            if self._server is not None:
                end(self._server[1])

    async def _refusal(self, head: h11.Request) -> bytes | None:
        """Connects to where the child wants to be; else why not."""
        if not self._is_let_in(head):
            return _WHO
        target = head.target.decode("ascii", "replace")
        upstream = self._door.upstream_for(target) if head.method == b"CONNECT" else None
        if upstream is None:
            return _NO
        self._door.seen.connection(self._requests.first_ns)
        try:
            self._server = await upstream.connect_raw()
        except OSError as error:
            self._door.unreachable(error)
            return _UNREACHABLE
        prompt(self._server[1])
        return None

    def _is_let_in(self, head: h11.Request) -> bool:
        told = dict(head.headers).get(b"proxy-authorization", b"").partition(b" ")[2]
        known = base64.b64encode(USER.encode("ascii") + b":" + self._door.secret)
        return hmac.compare_digest(told.strip(), known)

    async def _both_ways(self, server: Streams) -> None:
        door = self._door
        server[1].write(await self._said_already())
        async with asyncio.TaskGroup() as both:
            both.create_task(copy(self._reader, server[1], lambda _: None))
            both.create_task(
                copy(server[0], self._writer, lambda _: door.seen.some_bytes(door.now()))
            )

    async def _said_already(self) -> bytes:
        """What came behind the request: a child in a hurry does not wait for leave."""
        await self._requests.next_event()  # the end of its request, which has no body
        return self._requests.rest()
