"""What the transports of httpx and httpx2 tell, in the words of an attempt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmphases.capture.clients.http_attempts import HttpAttempt
from llmphases.conventions import CONNECT_TCP, CONNECT_TLS
from llmphases.observers import never_raises


class Events:
    """Of one request, from its connection to the end of the response's body."""

    __slots__ = ("_attempt", "_error", "_is_connecting", "_is_tunnel")

    def __init__(self, attempt: HttpAttempt) -> None:
        self._attempt = attempt
        self._is_connecting = False
        self._is_tunnel = False
        """Whether what is sent is for a proxy: part of making the connection."""
        self._error: BaseException | None = None

    @never_raises
    def tell(self, name: str, info: dict[str, Any]) -> None:
        """An event: `connection.connect_tcp.started` and the like."""
        event = name.partition(".")[2]
        if event == "send_request_headers.started":
            self._is_tunnel = getattr(info.get("request"), "method", None) == b"CONNECT"
        act = _EVENTS.get(event)
        if act is not None and not (self._is_tunnel and event in _OF_TUNNELS):
            act(self, info)

    def connecting(self, info: dict[str, Any]) -> None:
        """No connection yet; with several addresses it is told once."""
        if not self._is_connecting:
            self._is_connecting = True
            self._attempt.connecting()
        self._attempt.part_begins()

    def connected(self, info: dict[str, Any]) -> None:
        """The socket is there."""
        self._attempt.part_ends(CONNECT_TCP)

    def not_connected(self, info: dict[str, Any]) -> None:
        """Why, if it is tried again."""
        self._error = info.get("exception")

    def securing(self, info: dict[str, Any]) -> None:
        """TLS begins."""
        self._attempt.part_begins()

    def secured(self, info: dict[str, Any]) -> None:
        """TLS is there."""
        self._attempt.part_ends(CONNECT_TLS)

    def pausing(self, info: dict[str, Any]) -> None:
        """The transport waits before it tries again."""
        if self._error is not None:
            self._attempt.failed(self._error)

    def trying_again(self, info: dict[str, Any]) -> None:
        """And now it does."""
        self._is_connecting = False
        self._attempt.again()

    def sending(self, info: dict[str, Any]) -> None:
        """The connection is there."""
        self._attempt.sending()

    def sent(self, info: dict[str, Any]) -> None:
        """All is sent."""
        self._attempt.sent()

    def headers(self, info: dict[str, Any]) -> None:
        """The response has begun."""
        self._attempt.headers_came()

    def body_complete(self, info: dict[str, Any]) -> None:
        """And it is complete."""
        self._attempt.body_over()

    def body_failed(self, info: dict[str, Any]) -> None:
        """It is not, or nobody reads on."""
        self._attempt.body_over(info.get("exception"))


_EVENTS: dict[str, Callable[[Events, dict[str, Any]], None]] = {
    "connect_tcp.started": Events.connecting,
    "connect_unix_socket.started": Events.connecting,
    "connect_tcp.complete": Events.connected,
    "connect_unix_socket.complete": Events.connected,
    "connect_tcp.failed": Events.not_connected,
    "connect_unix_socket.failed": Events.not_connected,
    "start_tls.started": Events.securing,
    "start_tls.complete": Events.secured,
    "start_tls.failed": Events.not_connected,
    "retry.started": Events.pausing,
    "retry.complete": Events.trying_again,
    "send_request_headers.started": Events.sending,
    "receive_response_headers.started": Events.sent,
    "receive_response_headers.complete": Events.headers,
    "receive_response_body.complete": Events.body_complete,
    "receive_response_body.failed": Events.body_failed,  # GeneratorExit: nobody reads on
}
_OF_TUNNELS = frozenset(event for event in _EVENTS if event.startswith(("send", "receive")))
