"""A child process inside a call, as moments: spawned, ready, tokens, tool results, exited."""

from __future__ import annotations

from collections.abc import Hashable

from llmphases.observers import never_raises
from llmphases.phases import Phase
from llmphases.recorder.recorder import CallRecorder
from llmphases.recorder.requests import Request
from llmphases.recorder.streams import ANSWER

BURST_NS = 50_000_000
"""Text whose first and last byte lie closer than this says nothing about the first token."""


class ChildRecorder:
    """Takes the moments of one child process; its requests are those of the call."""

    __slots__ = ("_call", "_key", "_last_ns", "_request", "_spawned", "_tool_since_ns")

    def __init__(
        self, call: CallRecorder, at_ns: int, key: Hashable = None, base: object = None
    ) -> None:
        self._call = call
        self._key = ("child", key, at_ns)
        self._request: Request | None = None
        self._last_ns: int | None = None
        self._tool_since_ns: int | None = None
        self._spawned = call.open_process(at_ns, base)

    @property
    def _is_starting(self) -> bool:
        return self._spawned is not None and self._spawned.end_ns is None

    @never_raises
    def ready(self, at_ns: int, rule: str) -> None:
        """The child is ready, as `rule` tells; its request counts as issued now."""
        if self._is_starting:
            self._start_up(at_ns, rule)
            self._ask(at_ns)

    @never_raises
    def event(self, at_ns: int) -> None:
        """The first sign of a further request, which nobody saw the child make."""
        if self._is_starting:
            self.ready(at_ns, "first_byte")
        elif self._request is None or not self._request.is_open:
            self._ask(at_ns)

    @never_raises
    def first_token(self, at_ns: int, kind: int = ANSWER) -> None:
        """The first token of the child's newest request, or of one that begins with it."""
        self.event(at_ns)
        self._call.first_token(at_ns, self._key, kind=kind)

    @never_raises
    def last_token(self, at_ns: int) -> None:
        """The last token of the child's newest request."""
        if self._is_starting:
            self.text(at_ns, at_ns)
        self._call.last_token(at_ns, self._key)
        self._last_ns = self._tool_since_ns = at_ns

    @never_raises
    def tool_result(self, at_ns: int) -> None:
        """A tool has answered the child: since its last token it ran a tool, now it asks again."""
        if self._tool_since_ns is not None:
            self._call.write_phase(Phase.TOOL, self._tool_since_ns, at_ns)
        self._ask(at_ns)

    @never_raises
    def text(self, first_ns: int, last_ns: int) -> None:
        """Plain text came out between these two instants, and that is all we know.

        Text that streams: start-up, reading the prompt included, then generation. Text in one
        burst tells nothing of the first token. A child that was seen to be ready before has its
        own time to first token.
        """
        streams = last_ns - first_ns >= BURST_NS
        if self._is_starting:
            self._text_of_all(first_ns, last_ns, streams=streams)
        elif self._last_ns is None:
            if streams:
                self._call.first_token(first_ns, self._key)
            self._call.last_token(last_ns, self._key)
        self._last_ns = last_ns

    @never_raises
    def exited(self, at_ns: int) -> None:
        """The child is gone, and with it a request that it had not finished."""
        if self._spawned is not None and self._spawned.end_ns is None:
            self._call.close_process(self._spawned, at_ns, kind=Phase.INFERENCE)
        elif self._request is not None and self._request.is_open:
            self._call.request_ended(self._request, at_ns)
        elif self._last_ns is not None:
            self._call.write_phase(Phase.PROCESS_SHUTDOWN, self._last_ns, at_ns)

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
        self._tool_since_ns = None
        self._request = self._call.request_sent(at_ns, self._key)
