"""What one use of a client asks of a model: a request, and others where it tries again."""

from __future__ import annotations

from llmphases.capture.current import context_key, wired
from llmphases.recorder import CallRecorder
from llmphases.recorder.reported import ReportedTimes
from llmphases.recorder.requests import Request


class Attempts:
    """The requests that are made within a method of a client, or a block of the program.

    It is the `exchange` of the frame that is current there: by it, hooks further down know whose
    request it is that they see.
    """

    __slots__ = ("__weakref__", "_base", "_key", "call", "http", "is_one", "request")

    def __init__(self, call: CallRecorder, base: object, *, is_one: bool = False) -> None:
        self.call = call
        self.is_one = is_one
        """Whether the program itself says when an attempt begins and how it ends."""
        self.request: Request | None = None
        """The newest of its requests."""
        self.http: object = None
        """The newest HTTP request that was seen of it."""
        self._base = base
        self._key = context_key()

    def ask(self) -> None:
        """A request goes out; after a failed one it is that once more."""
        if self.request is None or not self.request.is_open:
            self.request = self.call.request_sent(wired().now(), self._key, self._base)

    def take_over(self, around: Attempts) -> None:
        """What is asked here is the request of the block around it, unless that is answered."""
        request = around.request
        if request is not None and request.is_open and request.track is None:
            self.request = request

    def attempt_failed(self, error_type: str | None) -> None:
        """The newest attempt is known to have failed; it may be tried again."""
        if self.request is not None:
            now_ns = wired().now()
            self.call.request_ended(self.request, now_ns, failed=True, error_type=error_type)

    def attempt_ended(self, at_ns: int) -> None:
        """The answer to the newest attempt is complete."""
        if self.request is not None:
            self.call.request_ended(self.request, at_ns)

    def report(self, times: ReportedTimes) -> None:
        """What the server says of the newest attempt's times."""
        self.call.report(times, self._key)
