"""Both ends of a tapped connection, byte by byte, and a tap between them."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
import time

from llmphases.adapters.chunks import shape_of
from llmphases.adapters.endpoints import asks_a_model
from llmphases.capture.children.tap.contract import Reading, TapRoute
from llmphases.capture.children.tap.moments import TapMoments
from llmphases.capture.children.tap.tap import Tap

TIMEOUT_S = 30
"""For what should come at once: on a busy machine it may take a while, and never so long."""


class Server:
    """Answers each connection by `script(connection, number)`, in a thread of its own."""

    def __init__(self, script):
        self._script = script
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.connections = []
        self.threads = []
        self.faults = []
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.settimeout(TIMEOUT_S)
            thread = threading.Thread(
                target=self._serve, args=(connection, len(self.connections)), daemon=True
            )
            self.connections.append(connection)
            self.threads.append(thread)
            thread.start()

    def _serve(self, connection, number):
        try:
            with connection:
                self._script(connection, number)
        except (BrokenPipeError, ConnectionResetError):
            pass
        except Exception as fault:  # noqa: BLE001  # shown by the test
            self.faults.append(fault)

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._acceptor.join()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self.threads:
            thread.join()
        assert self.faults == []


@contextlib.contextmanager
def server(script):
    one = Server(script)
    try:
        yield one
    finally:
        one.close()


def read_head(connection):
    """Up to the blank line, which is all that may have come."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = connection.recv(1)
        if not piece:
            return head
        head += piece
    return head


def read_request(connection):
    """A head, and a body with a length."""
    head = read_head(connection)
    length = 0
    for line in head.split(b"\r\n"):
        if line.lower().startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return head, read_exactly(connection, length)


def read_exactly(connection, length):
    body = bytearray()
    while len(body) < length:
        piece = connection.recv(min(1 << 16, length - len(body)))
        assert piece, "cut short"
        body += piece
    return bytes(body)


def read_all(connection):
    """Until the end, and how it ended: `closed` or `reset`."""
    everything = bytearray()
    try:
        while piece := connection.recv(1 << 16):
            everything += piece
    except ConnectionResetError:
        return bytes(everything), "reset"
    return bytes(everything), "closed"


def break_off(connection):
    """A reset instead of an end."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


class Heard(TapMoments):
    """What a tap tells, as a list of words; no call is behind it."""

    def __init__(self):
        super().__init__()
        self.words = []
        self.times = []

    @property
    def view(self):
        return "requests" if self.words else "nothing"

    def _say(self, *words):
        self.words.append(words)
        self.times.append(time.monotonic())

    def request(self, at_ns, target):
        number = sum(word[0] == "request" for word in self.words)
        self._say("request", number)
        return HeardRequest(self, number)

    def connection(self, at_ns):
        self._say("connection")

    def some_bytes(self, at_ns):
        self._say("bytes")

    def of(self, number=0, *, details=False):
        """What was said of one request."""
        told = [word[:1] + word[2:] for word in self.words if len(word) > 1 and word[1] == number]
        return told if details else [w for w in told if w[0] not in ("connected", "sent")]

    def ends(self):
        """How many requests are over."""
        return sum(word[0] in ("ended", "failed", "abandoned") for word in self.words)


class HeardRequest:
    def __init__(self, heard, number):
        self._say = lambda *words: heard._say(words[0], number, *words[1:])

    def connected(self, since_ns, at_ns):
        self._say("connected")

    def sent(self, since_ns, at_ns):
        self._say("sent")

    def headers(self, at_ns, status):
        self._say("headers", status)

    def tokens(self, at_ns, kinds, *, by_bytes=False):
        self._say("bytes" if by_bytes else "tokens", kinds)

    def ended(self, at_ns):
        self._say("ended")

    def failed(self, at_ns, error_type):
        self._say("failed", error_type)

    def abandoned(self, at_ns):
        self._say("abandoned")


class Tapped:
    """A tap before one server, and how to get there."""

    def __init__(self, tap, variables):
        self.tap = tap
        self.heard = tap.moments
        self.env = tap.steer(["x"], {})[1]
        self.url = self.env[next(iter(variables))] if variables else None
        self.port = int(self.url.split(":")[2].split("/")[0]) if variables else None
        self.secret = (
            self.url.rpartition(":")[2].partition("/")[2].split("/")[0] if variables else ""
        )

    @property
    def prefix(self):
        return f"/{self.secret}".encode()

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port))
        connection.settimeout(TIMEOUT_S)
        return connection

    def wait(self, condition):
        """Until the tap has told something; it tells after it has passed the bytes on."""
        until = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < until, self.heard.words
            time.sleep(0.005)


def reading():
    return Reading(
        now=time.perf_counter_ns,
        asks_a_model=asks_a_model,
        kind_of=lambda event: shape_of(event).kind(event),
    )


@contextlib.contextmanager
def tapped(url=None, *, env=None, proxied=False):
    variables = {} if url is None else {"X": url}
    tap = Tap(TapRoute(variables=variables, proxied=proxied), env or {}, Heard(), reading())
    assert tap.open()
    try:
        yield Tapped(tap, variables)
    finally:
        tap.close()


def post(path=b"/v1/chat/completions", body=b"{}", more=b""):
    return (
        b"POST %s HTTP/1.1\r\nHost: here\r\n%sContent-Length: %d\r\n\r\n%s"
        % (path, more, len(body), body)
    )  # fmt: skip


def _chunk(delta):
    return b'data: {"object": "chat.completion.chunk", "choices": [{"delta": %s}]}\n\n' % delta


def event(text):
    """One event of a chat, as its server sends it."""
    return _chunk(b'{"content": "%s"}' % text)


ROLE = _chunk(b'{"role": "assistant", "content": ""}')
DONE = b"data: [DONE]\n\n"
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


def chunked(*pieces):
    return b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
