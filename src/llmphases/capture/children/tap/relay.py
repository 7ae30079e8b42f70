"""One connection of the child to the tap, and the one to the model's server that it stands for.

Each connection of the child has one of its own to the server, so that either side's ends, breaks
and pauses are the other's. Requests are taken apart, since their addresses have to change; answers
go through byte by byte as they are.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import h11

from llmphases.capture.children.tap.contract import Reading, Seen
from llmphases.capture.children.tap.exchange import Exchange
from llmphases.capture.children.tap.requests import (
    Requests,
    asking_for_what_can_be_read,
    path_behind,
    readdressed,
)
from llmphases.capture.children.tap.sockets import PIECE, close, half_close, prompt, reset
from llmphases.capture.children.tap.talk import WebSocketTalk
from llmphases.capture.children.tap.upstream import Streams, Upstream
from llmphases.observers import never_raises

_UNKNOWN = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What all connections that come in by one port have in common."""

    secret: bytes
    upstream: Upstream
    seen: Seen
    reading: Reading
    unreachable: Callable[[OSError], None]
    """Hears of a server that cannot be reached."""


class Relay:
    """`run` lasts as long as the connection does."""

    def __init__(self, child: Streams, gate: Gate) -> None:
        self._reader, self._writer = child
        self._gate = gate
        self._now = gate.reading.now
        self._requests = Requests(self._reader, self._now)
        self._exchanges: deque[Exchange] = deque()
        self._talk: WebSocketTalk | None = None
        self._server: Streams | None = None
        self._is_server_gone = False
        self._child_gone_ns: int | None = None

    async def run(self) -> None:
        """Until both sides are done."""
        prompt(self._writer)
        end = reset
        try:
            head = await self._requests.next_head()
            if head is not None:
                await self._begin(head)
            end = close
        except* (OSError, h11.ProtocolError):
            pass  # one side has broken off: so does the other
        finally:
            self._let_go()
            end(self._writer)
            if self._server is not None:
                end(self._server[1])

    async def _begin(self, head: h11.Request) -> None:
        """The first request: only for one that knows the secret there is a server."""
        target = path_behind(self._gate.secret, head.target)
        if target is None:
            self._writer.write(_UNKNOWN)
            await self._writer.drain()
            return
        exchange = self._exchange(head, target)
        since_ns = self._now()
        try:
            self._server = await self._gate.upstream.connect()
        except OSError as error:
            self._gate.unreachable(error)
            exchange.broken(self._now())
            raise
        prompt(self._server[1])
        exchange.connected(since_ns, self._now())
        async with asyncio.TaskGroup() as both:
            both.create_task(self._forth(head, target, exchange))
            both.create_task(self._back(self._server[0]))

    def _exchange(self, head: h11.Request, target: bytes) -> Exchange:
        gate, path = self._gate, target.decode("latin-1")
        asked = path.partition("?")[0]
        seen = None
        if _upgrades(head):
            if gate.reading.asks_a_model("POST", asked):
                self._talk = WebSocketTalk(path, gate.seen, gate.reading)
        elif gate.reading.asks_a_model(head.method.decode("ascii"), asked):
            seen = gate.seen.request(self._requests.first_ns, path)
        exchange = Exchange(seen, gate.reading)
        self._exchanges.append(exchange)
        return exchange

    # --- from the child to the server ------------------------------------------------------

    async def _forth(self, head: h11.Request | None, target: bytes, exchange: Exchange) -> None:
        try:
            while head is not None:
                await self._hand_on(head, target, exchange)
                if _upgrades(head):
                    await exchange.has_begun.wait()
                    if exchange.is_switched:
                        await self._forth_as_it_is()
                        break
                head = await self._requests.next_head()
                if head is not None:
                    behind = path_behind(self._gate.secret, head.target)
                    if behind is None:
                        break
                    target, exchange = behind, self._exchange(head, behind)
                    if self._is_server_gone:
                        exchange.broken(self._now())
        except h11.RemoteProtocolError:  # it ended in the middle of a request, or speaks no HTTP
            pass
        self._child_gone_ns = self._now()
        assert self._server is not None
        half_close(self._server[1])

    async def _hand_on(self, head: h11.Request, target: bytes, exchange: Exchange) -> None:
        upstream = self._gate.upstream
        since_ns = self._now()
        if exchange.is_read:
            head = asking_for_what_can_be_read(head)
        event: h11.Event = readdressed(
            head, upstream.absolute_form + target, upstream.address.authority,
            upstream.proxy_headers,
        )  # fmt: skip
        while True:
            await self._send(exchange.framed(event))
            if isinstance(event, h11.EndOfMessage):
                break
            event = await self._requests.next_event()
        exchange.sent(since_ns, self._now())

    async def _send(self, data: bytes) -> None:
        """A server that has answered and gone need not have read all: the rest is read for it."""
        if self._is_server_gone:
            return
        assert self._server is not None
        try:
            self._server[1].write(data)
            await self._server[1].drain()
        except OSError:
            self._is_server_gone = True

    async def _forth_as_it_is(self) -> None:
        data = self._requests.rest()
        while True:
            if data and self._talk is not None:
                self._talk.sent(data, self._now())
            await self._send(data)
            data = await self._reader.read(PIECE)
            if not data:
                break

    # --- from the server to the child ------------------------------------------------------

    async def _back(self, server: asyncio.StreamReader) -> None:
        while data := await server.read(PIECE):
            at_ns = self._now()
            self._writer.write(data)
            self._read(data, at_ns)
            await self._writer.drain()
        self._is_server_gone = True
        if self._child_gone_ns is None:
            self._read(b"", self._now())
        half_close(self._writer)

    @never_raises
    def _read(self, data: bytes, at_ns: int) -> None:
        """Bytes of answers; empty: there are no more."""
        is_end = not data
        while self._exchanges and (data or is_end):
            exchange = self._exchanges[0]
            if exchange.is_switched:
                if self._talk is not None and data:
                    self._talk.received(data, at_ns)
                return
            data = exchange.received(data, at_ns)
            if is_end:
                exchange.broken(at_ns)
            if exchange.is_over:
                self._exchanges.popleft()

    @never_raises
    def _let_go(self) -> None:
        at_ns = self._now() if self._child_gone_ns is None else self._child_gone_ns
        for exchange in self._exchanges:
            exchange.abandoned(at_ns)
        if self._talk is not None:
            self._talk.closed(at_ns)


def _upgrades(head: h11.Request) -> bool:
    return any(name == b"upgrade" for name, _ in head.headers)
