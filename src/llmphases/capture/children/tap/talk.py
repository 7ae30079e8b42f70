"""Requests to a model that go over one WebSocket connection, as its messages go by."""

from __future__ import annotations

from llmphases.capture.children.tap.content import COMPLETE, FAILURE, TOKENS, kinds_of_message
from llmphases.capture.children.tap.contract import Reading, Seen, SeenRequest
from llmphases.capture.children.tap.exchange import FAILED_IN_STREAM
from llmphases.capture.children.tap.frames import Frames

_LARGEST_EVENT = 1 << 20


class WebSocketTalk:
    """Each message of the child is a request; what the server says until the next is its answer."""

    def __init__(self, target: str, seen: Seen, reading: Reading) -> None:
        self._target = target
        self._seen = seen
        self._reading = reading
        self._out = Frames(0)
        self._in = Frames(_LARGEST_EVENT)
        self._request: SeenRequest | None = None
        self._since_ns = 0

    def sent(self, data: bytes, at_ns: int) -> None:
        """Bytes of the child."""
        for message in self._out.feed(data):
            if not message.has_ended:
                if self._request is not None:
                    self._request.ended(at_ns)
                self._request, self._since_ns = self._seen.request(at_ns, self._target), at_ns
            elif self._request is not None:
                self._request.sent(self._since_ns, at_ns)

    def received(self, data: bytes, at_ns: int) -> None:
        """Bytes of the server."""
        for message in self._in.feed(data):
            if message.payload is not None and self._request is not None:
                self._answer(message.payload, at_ns)

    def _answer(self, event: bytes, at_ns: int) -> None:
        assert self._request is not None
        kinds = kinds_of_message(event, self._reading.kind_of)
        if kinds & TOKENS:
            self._request.tokens(at_ns, kinds & TOKENS)
        if kinds & FAILURE:
            self._request.failed(at_ns, FAILED_IN_STREAM)
        elif kinds & COMPLETE:
            self._request.ended(at_ns)
        else:
            return
        self._request = None

    def closed(self, at_ns: int) -> None:
        """The connection is gone."""
        if self._request is not None:
            self._request.abandoned(at_ns)
            self._request = None
