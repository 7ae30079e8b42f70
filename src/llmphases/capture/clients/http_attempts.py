"""One HTTP request of an exchange: what its wait is made of, and how it went.

An SDK that tries again does so inside its method, where only its HTTP client shows it: each
attempt is a request of its own, and one that failed is the phase `retry` until the next is sent.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from llmphases.capture.attempts import Attempts
from llmphases.capture.current import frame_here, wired
from llmphases.capture.marks import leave
from llmphases.capture.outcomes import outcome
from llmphases.conventions import CONNECTION_REUSED
from llmphases.observers import Frame, OpenPhase, never_raises

CONNECT: Final = "connect"
SEND: Final = "send"
WAIT_HEADERS: Final = "wait_headers"
READ_FIRST: Final = "read_first"

_REDIRECTS: Final = 300
_ERRORS: Final = 400
"""Statuses from here on are failures."""


class HttpAttempt:
    """An HTTP request, from its start to the end of its response's body.

    A hook tells it what happens. None of its methods raises, nor does one that comes too late
    change anything.
    """

    __slots__ = (
        "_asked", "_asks", "_connect", "_may_fail", "_parts_ns", "_request", "_since_ns", "address",
        "body_ns", "is_answered", "is_waiting",
    )  # fmt: skip

    def __init__(self, asked: Attempts, address: str, *, asks: bool) -> None:
        self.address = address
        self.is_waiting = True
        """Whether neither its response has begun nor a failure is known."""
        self.is_answered = False
        """Whether a response has begun that is no failure, to a request that asks something."""
        self.body_ns: int | None = None
        """When the body was complete."""
        self._asked = asked
        self._asks = asks
        self._may_fail = asks and not asked.is_one
        self._request = asked.request
        self._connect: OpenPhase | None = None
        self._parts_ns: dict[str, int] = {}
        """Of making the connection, by attribute."""
        self._since_ns = 0

    # --- before the response ---------------------------------------------------------------

    def enter(self) -> Any:
        """Make current whose attempt it is; gives what `leave` takes, None if it is already."""
        return self._enter()

    @never_raises
    def _enter(self) -> Any:
        carrier = wired().carrier
        here = carrier.variable.get()
        frame = carrier.frame_of(here)
        owner = self._request.phase if self._request is not None else None
        if frame is None or owner is None or frame.owner is owner:
            return None
        inside = Frame(call=frame.call, owner=owner, job=frame.job, exchange=self._asked)
        return carrier.variable.set(carrier.move(here, inside))

    def leave(self, token: Any) -> None:
        """Back to what was current before `enter`."""
        if token is not None:
            leave(token)

    @never_raises
    def connecting(self) -> None:
        """There is no connection yet, and one is made now."""
        self._connect = self._waits_for(CONNECT)
        self._parts_ns = {}

    @never_raises
    def part_begins(self) -> None:
        """A part of making the connection begins."""
        self._since_ns = wired().now()

    @never_raises
    def part_ends(self, attribute: str) -> None:
        """It ends; `attribute` is where its time is kept, with that of others of its kind."""
        if self._connect is not None:
            # TLS may be made twice: with a proxy, and through it with the server.
            took_ns = self._parts_ns.get(attribute, 0) + wired().now() - self._since_ns
            self._parts_ns[attribute] = took_ns
            self._connect.attributes[attribute] = took_ns / 1e9

    @never_raises
    def sending(self, *, may_be_new: bool = False) -> None:
        """The connection is there.

        `may_be_new`: where nobody told of connecting, it may have been made all the same.
        """
        request = self._request
        is_known = self._connect is not None or not may_be_new
        if request is not None and request.phase is not None and is_known:
            request.phase.attributes[CONNECTION_REUSED] = self._connect is None
        self._waits_for(SEND)

    @never_raises
    def sent(self) -> None:
        """The request is on its way."""
        self._waits_for(WAIT_HEADERS)

    # --- the response ----------------------------------------------------------------------

    @never_raises
    def headers_came(self) -> None:
        """The response has begun."""
        self.is_waiting = False
        self._waits_for(READ_FIRST)

    @never_raises
    def answered(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """What the response's first lines say."""
        self.is_waiting = False
        if status >= _ERRORS:
            self._fail(str(status))
        elif status < _REDIRECTS and self._asks:
            self.is_answered = True
            times = wired().times_in(headers)
            if times is not None:
                self._asked.report(times)

    @never_raises
    def body_over(self, error: BaseException | None = None) -> None:
        """The body is complete, or nobody reads on, or it cannot be read."""
        self.body_ns = wired().now()
        error_type = outcome(error)[1]
        self._waits_for(None, error_type)
        request = self._request
        # Who reads a stream tells of its failure, and what came before it.
        if isinstance(error, Exception) and request is not None and request.track is None:
            self._fail(error_type)

    @never_raises
    def failed(self, error: BaseException) -> None:
        """There is no response."""
        self.is_waiting = False
        error_type = outcome(error)[1]
        self._waits_for(None, error_type)
        if isinstance(error, Exception):
            self._fail(error_type)

    @never_raises
    def again(self) -> None:
        """The client itself tries once more to connect, after a pause."""
        if self._may_fail:
            self._asked.ask()
            self._request = self._asked.request
        self._connect = None

    def _fail(self, error_type: str | None) -> None:
        self.is_answered = False
        if self._may_fail and self._asked.request is self._request:
            self._asked.attempt_failed(error_type)
        else:
            self._waits_for(None)

    def _waits_for(self, what: str | None, error_type: str | None = None) -> OpenPhase | None:
        if self._request is None:
            return None
        return self._asked.call.waits_for(self._request, wired().now(), what, error_type)


def attempt_here() -> HttpAttempt | None:
    """The HTTP request that waits for its response in this context, if it is looked at."""
    frame = frame_here()
    asked = frame.exchange if frame is not None else None
    attempt = asked.http if isinstance(asked, Attempts) else None
    return attempt if isinstance(attempt, HttpAttempt) and attempt.is_waiting else None


@never_raises
def begin_http(method: str, address: str) -> HttpAttempt | None:
    """Note that an HTTP request goes out.

    None where that is not looked at: outside an exchange, or beside another one of the same
    exchange that waits for its response. What does not POST (a list of models, a look for
    credentials) is a detail at most, whatever becomes of it.
    """
    frame = frame_here()
    asked = frame.exchange if frame is not None else None
    if not isinstance(asked, Attempts) or not asked.call.is_open:
        return None
    before = asked.http
    if isinstance(before, HttpAttempt) and before.is_waiting:
        return None
    asks = method == "POST"
    if asks and not asked.is_one:
        if isinstance(before, HttpAttempt):
            _end_answered(asked, before, address)
        asked.ask()
    attempt = HttpAttempt(asked, address, asks=asks)
    asked.http = attempt
    return attempt


def _end_answered(asked: Attempts, before: HttpAttempt, address: str) -> None:
    """A method that asks the same once more has got its answer, and does something with it."""
    request = asked.request
    is_read = request is not None and request.track is not None
    if before.is_answered and before.address == address and not is_read:
        asked.attempt_ended(before.body_ns or wired().now())
