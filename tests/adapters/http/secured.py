"""The chat server behind TLS, and a forward proxy, both on loopback and with stated delays."""

from __future__ import annotations

import contextlib
import functools
import http.client
import select
import socket
import ssl
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import trustme

from lab.loopback import LoopbackServer, QuietHandler
from lab.sse_server import SseServer


@functools.cache
def authority() -> trustme.CA:
    """Who has signed the certificates of these servers; unknown to whoever is not told."""
    return trustme.CA()


def trusting() -> ssl.SSLContext:
    """A client's context that takes these servers for real."""
    context = ssl.create_default_context()
    authority().configure_trust(context)
    return context


@dataclass(frozen=True, slots=True)
class Handshake:
    """The server's side of one. Monotonic nanoseconds."""

    hello_ns: int
    """When the client had begun it."""
    answered_ns: int
    """Before the server said anything."""


class _Secured:
    """For a handler: TLS around what it speaks, answered as late as its server says."""

    server: Any
    request: Any

    def setup(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority().issue_cert("127.0.0.1", "localhost").configure_cert(context)
        self.request = context.wrap_socket(
            self.request, server_side=True, do_handshake_on_connect=False
        )
        self.server.open_sockets.add(self.request)
        super().setup()  # type: ignore[misc]  # of the handler that this is mixed into

    def handle(self) -> None:
        owner = self.server.owner
        with contextlib.suppress(OSError):  # a client that does not know who has signed it
            # The delay begins when the client has: no sooner than its own clock of it.
            socket.socket.recv(self.request, 1, socket.MSG_PEEK)
            hello_ns = time.monotonic_ns()
            owner.wait_until(hello_ns + round(owner.handshake_s * 1e9))
            owner.handshakes.append(Handshake(hello_ns, time.monotonic_ns()))
            if owner.breaks_times > 0:
                owner.breaks_times -= 1
                return
            self.request.do_handshake()
            super().handle()  # type: ignore[misc]  # of the handler mixed in

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()  # type: ignore[misc]  # likewise
        self.server.open_sockets.discard(self.request)
        self.request.close()


class _SecuredChat(_Secured, SseServer.handler):
    pass


class SecuredChat(SseServer):
    """The chat server by https."""

    handler = _SecuredChat

    def __init__(self) -> None:
        super().__init__()
        self.url = self.url.replace("http:", "https:")
        self.base_url = f"{self.url}/v1"
        self.handshake_s = 0.0
        """How long the client waits for an answer to its hello."""
        self.breaks_times = 0
        """The next so many connections break instead."""
        self.handshakes: list[Handshake] = []


class _Forwards(QuietHandler):
    def setup(self) -> None:
        self.server.owner.connections += 1
        super().setup()

    def _is_refused(self) -> bool:
        owner: Proxy = self.server.owner
        owner.asked.append(f"{self.command} {self.path}")
        owner.wait_until(time.monotonic_ns() + round(owner.answer_s * 1e9))
        if owner.refuses_times <= 0:
            return False
        owner.refuses_times -= 1
        self.body()
        self.close_connection = True
        self.answer(owner.refuses_by, b"no", "text/plain", connection="close")
        return True

    def do_CONNECT(self) -> None:
        if self._is_refused():
            return
        self.close_connection = True
        host, _, port = self.path.rpartition(":")
        with socket.create_connection((host, int(port))) as server:
            self.send_response(200)
            self.end_headers()
            with contextlib.suppress(OSError):
                _carry(self.request, server)

    def do_POST(self) -> None:
        if self._is_refused():
            return
        target = urlsplit(self.path)
        kept = {n: v for n, v in self.headers.items() if n.lower() != "transfer-encoding"}
        with contextlib.closing(http.client.HTTPConnection(target.netloc)) as server:
            server.request(self.command, target.path, self.body(), kept)
            response = server.getresponse()
            self.send_response(response.status)
            for name, value in response.getheaders():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(response.read())

    do_GET = do_POST


def _carry(client: Any, server: socket.socket) -> None:
    """Bytes both ways, until one side has no more."""
    other = {client: server, server: client}
    while True:
        held = isinstance(client, ssl.SSLSocket) and client.pending()
        for one in [client] if held else select.select([client, server], [], [])[0]:
            data = one.recv(65536)
            if not data:
                return
            other[one].sendall(data)


class Proxy(LoopbackServer):
    """A forward proxy: it tunnels what it is asked to CONNECT, and forwards the rest."""

    handler: type[QuietHandler] = _Forwards

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []
        """The methods and targets of what it was asked, as they were."""
        self.connections = 0
        """How many were made to it."""
        self.answer_s = 0.0
        """How long a client waits for it to do anything."""
        self.refuses_times = 0
        self.refuses_by = 502
        """Its answer to the next so many requests."""


class _ForwardsSecured(_Secured, _Forwards):
    pass


class SecuredProxy(Proxy):
    """The same, behind TLS of its own."""

    handler = _ForwardsSecured

    def __init__(self) -> None:
        super().__init__()
        self.url = self.url.replace("http:", "https:")
        self.handshake_s = 0.0
        self.breaks_times = 0
        self.handshakes: list[Handshake] = []
