"""One request and the answer to it, as their bytes go by."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import h11

from llmphases.capture.children.tap.content import FAILURE, TOKENS, Content
from llmphases.capture.children.tap.contract import Reading, SeenRequest

LARGEST_HEAD = 1 << 20
_FAILED_FROM = 400
_SWITCHING = 101
DISCONNECTED = "disconnected"
FAILED_IN_STREAM = "error_in_stream"


class Exchange:
    """Frames the request that is handed on, and reads along in the answer.

    The answer goes to the child as it comes, whatever can be made of it here.
    """

    def __init__(self, seen: SeenRequest | None, reading: Reading) -> None:
        self._seen = seen
        self._reading = reading
        self._talk = h11.Connection(h11.CLIENT, max_incomplete_event_size=LARGEST_HEAD)
        self._content: Content | None = None
        self._is_failed = False
        self.has_begun = asyncio.Event()
        """An answer has begun, or there will be none."""
        self.is_switched = False
        """Whether the connection speaks another protocol from now on."""
        self.is_over = False
        """Whether nothing more belongs to it."""

    @property
    def is_read(self) -> bool:
        """Whether anybody wants to know what is in the answer."""
        return self._seen is not None

    # --- what the child says ---------------------------------------------------------------

    def framed(self, event: h11.Event) -> bytes:
        """A piece of the request, as it is to be sent."""
        framed = self._talk.send(event) or b""
        if isinstance(event, h11.Request) and event.http_version == b"1.0":
            framed = framed.replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", 1)
        return framed

    def connected(self, since_ns: int, at_ns: int) -> None:
        """The connection that had to be made for it stands."""
        if self._seen is not None:
            self._seen.connected(since_ns, at_ns)

    def sent(self, since_ns: int, at_ns: int) -> None:
        """All of the request has been handed on."""
        if self._seen is not None:
            self._seen.sent(since_ns, at_ns)

    # --- what the server says --------------------------------------------------------------

    def received(self, data: bytes, at_ns: int) -> bytes:
        """Bytes of the answer; gives back what comes after its end. Empty: there are no more."""
        try:
            self._talk.receive_data(data)
            for event in self._events():
                self._read(event, at_ns)
        except h11.RemoteProtocolError:
            # Cut short, or no HTTP: the child will see that for itself.
            self.broken(at_ns)
            return b""
        return self._talk.trailing_data[0] if self.is_over or self.is_switched else b""

    def _events(self) -> Iterator[h11.Event]:
        while not self.is_over and not self.is_switched:
            event = self._talk.next_event()
            if event is h11.NEED_DATA or event is h11.PAUSED:
                return
            assert isinstance(event, h11.Event)
            yield event

    def _read(self, event: h11.Event, at_ns: int) -> None:
        match event:
            case h11.InformationalResponse(status_code=status):
                if status == _SWITCHING:
                    self.is_switched = True
                    self.has_begun.set()
            case h11.Response():
                self._headers(event, at_ns)
            case h11.Data():
                self._body(bytes(event.data), at_ns)
            case h11.EndOfMessage():
                self._end(at_ns)
            case h11.ConnectionClosed():
                self.broken(at_ns)

    def _headers(self, answer: h11.Response, at_ns: int) -> None:
        self.has_begun.set()
        if self._seen is None:
            return
        self._seen.headers(at_ns, answer.status_code)
        if answer.status_code >= _FAILED_FROM:
            self._is_failed = True
            self._seen.failed(at_ns, str(answer.status_code))
        else:
            self._content = Content(answer.headers, self._reading.kind_of)

    def _body(self, data: bytes, at_ns: int) -> None:
        if self._content is None or self._seen is None or self._is_failed:
            return
        kinds = self._content.feed(data)
        if kinds & TOKENS:
            by_bytes = not self._content.is_readable
            self._seen.tokens(at_ns, kinds & TOKENS, by_bytes=by_bytes)
        if kinds & FAILURE:
            self._is_failed = True
            self._seen.failed(at_ns, FAILED_IN_STREAM)

    def _end(self, at_ns: int) -> None:
        self.is_over = True
        if self._seen is not None and not self._is_failed:
            self._seen.ended(at_ns)

    def broken(self, at_ns: int) -> None:
        """The server has gone before the end of its answer."""
        if not self.is_over and self._seen is not None and not self._is_failed:
            self._seen.failed(at_ns, DISCONNECTED)
        self._close()

    def abandoned(self, at_ns: int) -> None:
        """The child has gone before the end of the answer."""
        if not self.is_over and self._seen is not None and not self._is_failed:
            self._seen.abandoned(at_ns)
        self._close()

    def _close(self) -> None:
        self.is_over = True
        self.has_begun.set()
