"""A child process inside a call, as moments: spawned, ready, tokens, tool results, exited."""

from __future__ import annotations

from collections.abc import Hashable

from llmphases.calls import ProcessUse
from llmphases.observers import OpenPhase, never_raises
from llmphases.phases import Phase
from llmphases.recorder.recorder import CallRecorder
from llmphases.recorder.reported import ReportedTimes, fits, request_start
from llmphases.recorder.requests import Request
from llmphases.recorder.streams import ANSWER

BURST_NS = 50_000_000
"""Text whose first and last byte lie closer than this says nothing about the first token."""


class ChildRecorder:
    """Takes the moments of one child process; its requests are those of the call."""

    __slots__ = (
        "_call", "_key", "_last_ns", "_request", "_resend_ns", "_spawned", "_tool_since_ns",
    )  # fmt: skip

    def __init__(
        self, call: CallRecorder, at_ns: int, key: Hashable = None, base: object = None
    ) -> None:
        self._call = call
        self._key = ("child", key, at_ns)
        self._request: Request | None = None
        self._last_ns: int | None = None
        self._tool_since_ns: int | None = None
        self._resend_ns: int | None = None
        self._spawned = call.open_process(at_ns, base)

    @property
    def spawned(self) -> OpenPhase | None:
        """The phase that lasts from its spawn; None if the call was over already."""
        return self._spawned

    @property
    def is_starting(self) -> bool:
        """Whether nothing has told yet that it is ready."""
        return self._spawned is not None and self._spawned.end_ns is None

    @property
    def has_open_request(self) -> bool:
        """Whether a request of it waits for its answer, or for the rest of one."""
        return self._request is not None and self._request.is_open

    @never_raises
    def ready(self, at_ns: int, rule: str) -> None:
        """The child is ready, as `rule` tells; its request counts as issued now."""
        if self.is_starting:
            self._start_up(at_ns, rule)
            self._ask(at_ns)

    @never_raises
    def asks(self, at_ns: int, rule: str) -> None:
        """Its first request to a model was seen elsewhere, and is told of there."""
        if self.is_starting:
            self._start_up(at_ns, rule)

    @never_raises
    def tool_ran(self, since_ns: int, at_ns: int) -> None:
        """Between two requests that were seen elsewhere the child ran a tool."""
        self._call.write_phase(Phase.TOOL, since_ns, at_ns)

    @never_raises
    def worked_until(self, at_ns: int | None) -> None:
        """What comes after its last token, or its last byte, is the way to its exit."""
        self._last_ns = at_ns

    @never_raises
    def event(self, at_ns: int) -> None:
        """The first sign of a further request, which nobody saw the child make."""
        if self.is_starting:
            self.ready(at_ns, "first_byte")
        elif self._request is None or not self._request.is_open:
            resend_ns = self._resend_ns
            self._ask(at_ns if resend_ns is None else min(at_ns, resend_ns))

    @never_raises
    def first_token(self, at_ns: int, kind: int = ANSWER) -> None:
        """The first token of the child's newest request, or of one that begins with it."""
        self.event(at_ns)
        self._call.first_token(at_ns, self._key, kind=kind)

    @never_raises
    def last_token(self, at_ns: int) -> None:
        """The last token of the child's newest request."""
        if self.is_starting:
            self.text(at_ns, at_ns)
        self._call.last_token(at_ns, self._key)
        self._last_ns = self._tool_since_ns = at_ns

    @never_raises
    def answered(self, at_ns: int) -> None:
        """The newest request's answer is complete, and none of its tokens was seen."""
        if self.is_starting:
            self.text(at_ns, at_ns)
        elif self._request is not None:
            self._call.request_ended(self._request, at_ns)
        self._last_ns = self._tool_since_ns = at_ns

    @never_raises
    def failed(
        self, at_ns: int, resend_ns: int | None = None, *, error_type: str | None = None
    ) -> None:
        """The newest request failed, because of `error_type`.

        `resend_ns` is when the child says it will send it again.
        """
        self.event(at_ns)
        if self._request is not None:
            self._call.request_ended(self._request, at_ns, failed=True, error_type=error_type)
        self._resend_ns = resend_ns

    @never_raises
    def tool_result(self, at_ns: int) -> None:
        """A tool has answered the child: since its last token it ran a tool, now it asks again."""
        if self.is_starting:
            self.event(at_ns)
            return
        if self._tool_since_ns is not None:
            self._call.write_phase(Phase.TOOL, self._tool_since_ns, at_ns)
        self._ask(at_ns)

    @never_raises
    def text(
        self, first_ns: int, last_ns: int, *, streams: bool | None = None,
        times: ReportedTimes | None = None,
    ) -> None:  # fmt: skip
        """Plain text came out between these two instants, and that is all we know.

        Text that streams: start-up, reading the prompt included, then generation. Text in one
        burst tells nothing of the first token, unless the program is known to stream (`streams`).
        A child that was seen to be ready before has its own time to first token; so has one whose
        server told its times, if they fit.
        """
        if streams is None:
            streams = last_ns - first_ns >= BURST_NS
        if self.is_starting and times is not None:
            self._ready_as_reported(first_ns if streams else None, last_ns, times)
        if self.is_starting:
            self._text_of_all(first_ns, last_ns, streams=streams)
        elif self._last_ns is None:
            if streams:
                self._call.first_token(first_ns, self._key)
            self._call.last_token(last_ns, self._key)
        self._last_ns = last_ns

    @never_raises
    def exited(self, at_ns: int, *, error_type: str | None = None) -> None:
        """The child is gone, and with it a request that it had not finished.

        `error_type`: why, if it was not meant to end so; a request without a token failed as well.
        """
        if self._spawned is not None and self._spawned.end_ns is None:
            self._call.close_process(self._spawned, at_ns, kind=Phase.INFERENCE)
        elif self._request is not None and self._request.is_open:
            failed = error_type is not None and self._request.first_ns is None
            self._call.request_ended(
                self._request, at_ns, failed=failed, error_type=error_type if failed else None
            )
        elif self._last_ns is not None:
            self._call.write_phase(Phase.PROCESS_SHUTDOWN, self._last_ns, at_ns)

    @never_raises
    def not_spawned(self, at_ns: int, error_type: str) -> None:
        """There is no child: it could not be started."""
        if self._spawned is not None:
            self._call.close_process(self._spawned, at_ns)
            self._call.process_used(self._spawned, error_type=error_type)

    @never_raises
    def used(self, use: ProcessUse | None, error_type: str | None = None) -> None:
        """What the child has used, and why it failed if it did; the last that is said of it."""
        if self._spawned is not None:
            self._call.process_used(self._spawned, use, error_type)

    @never_raises
    def report(self, times: ReportedTimes) -> None:
        """What a server says of the newest request's times, by the child's words."""
        if self._request is None or not times.has_durations:
            self._call.note_reported(times.raw)
        else:
            self._call.report(times, self._key)

    def _ready_as_reported(self, first_ns: int | None, last_ns: int, times: ReportedTimes) -> None:
        """Server times that fit between spawn and last byte tell when the request was sent."""
        assert self._spawned is not None
        sent_ns = request_start(times, self._spawned.start_ns, last_ns, first_ns)
        if sent_ns is None:
            window_ns = last_ns - self._spawned.start_ns
            trusted = fits(times, window_ns) if times.has_durations else None
            self._call.note_reported(times.raw, trusted=trusted)
            return
        self._start_up(sent_ns, "reported")
        self._ask(sent_ns)
        self._call.report(times, self._key)

    def _text_of_all(self, first_ns: int, last_ns: int, *, streams: bool) -> None:
        assert self._spawned is not None
        if streams:
            self._start_up(first_ns, "first_byte")
            self._call.write_phase(Phase.GENERATION, first_ns, last_ns, token=True)
        else:
            self._call.close_process(self._spawned, last_ns, kind=Phase.INFERENCE)

    def _start_up(self, at_ns: int, rule: str) -> None:
        assert self._spawned is not None
        self._call.facts.first_token_rule = rule
        self._call.close_process(self._spawned, at_ns)

    def _ask(self, at_ns: int) -> None:
        self._tool_since_ns = self._resend_ns = None
        self._request = self._call.request_sent(at_ns, self._key)
