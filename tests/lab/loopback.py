"""A threaded HTTP server on a free loopback port that ends without leaving sockets or threads."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


class QuietHandler(BaseHTTPRequestHandler):
    """Speaks HTTP/1.1, logs nothing, and takes a client that has gone for granted."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *args: Any) -> None:
        """Nothing."""

    def handle(self) -> None:
        """Serve until the client goes, in whichever way."""
        with contextlib.suppress(ConnectionError, TimeoutError):
            super().handle()

    def body(self) -> bytes:
        """What the client sent, with a length or in chunks."""
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length", 0)))
        chunks = []
        while size := int(self.rfile.readline(), 16):
            chunks.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(chunks)

    def answer(self, status: int, body: bytes, content_type: str, **headers: str) -> None:
        """A whole response at once."""
        self.send_response(status)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)


class _TrackingServer(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 128

    def __init__(self, handler: type[QuietHandler], owner: LoopbackServer) -> None:
        self.owner = owner
        self.open_sockets: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open_sockets.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open_sockets.discard(request)
        super().shutdown_request(request)


class LoopbackServer:
    """`with LoopbackServer(Handler) as server: server.url`; handlers find it as `server.owner`."""

    handler: type[QuietHandler] = QuietHandler

    def __init__(self) -> None:
        self._server = _TrackingServer(self.handler, self)
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        self._ending = threading.Event()
        host, port = self._server.server_address[:2]
        self.port = int(port)
        self.url = f"http://{host!s}:{port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ending.set()
        self._server.shutdown()
        for one in list(self._server.open_sockets):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
        self._server.server_close()
        self._thread.join()

    def wait_until(self, at_ns: int) -> None:
        """Sleep until a moment of the monotonic clock, or until the server ends."""
        while (left := at_ns - time.monotonic_ns()) > 0:
            if self._ending.wait(left / 1e9):
                raise ConnectionAbortedError
