"""A child process inside a call, as moments: spawned, ready, tokens, tool results, exited."""

from __future__ import annotations

from collections.abc import Hashable

from llmphases.observers import OpenPhase, never_raises
from llmphases.phases import Phase
from llmphases.recorder.recorder import CallRecorder
from llmphases.recorder.streams import ANSWER

BURST_NS = 50_000_000
"""Text whose first and last byte lie closer than this says nothing about the first token."""


class ChildRecorder:
    """Takes the moments of one child process; its requests are those of the call."""

    __slots__ = ("_call", "_first_ns", "_key", "_last_ns", "_spawned", "_tool_since_ns")

    def __init__(
        self, call: CallRecorder, at_ns: int, key: Hashable = None, base: object = None
    ) -> None:
        self._call = call
        self._key = ("child", key, at_ns)
        self._first_ns: int | None = None
        self._last_ns: int | None = None
        self._tool_since_ns: int | None = None
        self._spawned = self._spawn(at_ns, base)

    @never_raises
    def _spawn(self, at_ns: int, base: object) -> OpenPhase | None:
        self._call.conversation.is_seen = True
        return self._call.open_process(at_ns, base)

    @never_raises
    def ready(self, at_ns: int, rule: str) -> None:
        """The child is ready, as `rule` tells; its request counts as issued now."""
        if self._spawned is not None and self._spawned.end_ns is None:
            self._call.facts.first_token_rule = rule
            self._call.close_process(self._spawned, at_ns)
            self._call.request_sent(at_ns, self._key)

    @never_raises
    def first_token(self, at_ns: int, kind: int = ANSWER) -> None:
        """The first token of the child's newest request."""
        self._call.first_token(at_ns, self._key, kind=kind)
        self._last_ns = at_ns

    @never_raises
    def last_token(self, at_ns: int) -> None:
        """The last token of the child's newest request."""
        self._call.last_token(at_ns, self._key)
        self._last_ns = self._tool_since_ns = at_ns

    @never_raises
    def tool_result(self, at_ns: int) -> None:
        """A tool has answered the child: since its last token it ran a tool, now it asks again."""
        if self._tool_since_ns is not None:
            self._call.write_phase(Phase.TOOL, self._tool_since_ns, at_ns)
            self._tool_since_ns = None
        self._call.request_sent(at_ns, self._key)

    @never_raises
    def text(self, first_ns: int, last_ns: int) -> None:
        """Plain text came out between these two instants, and that is all we know.

        Text that streams: start-up, reading the prompt included, then generation. Text in one
        burst tells nothing of the first token.
        """
        self._first_ns, self._last_ns = first_ns, last_ns
        if self._spawned is None or self._spawned.end_ns is not None:
            return
        if last_ns - first_ns < BURST_NS:
            self._call.close_process(self._spawned, last_ns, kind=Phase.INFERENCE)
            return
        self._call.facts.first_token_rule = "first_byte"
        self._call.close_process(self._spawned, first_ns)
        self._call.write_phase(Phase.GENERATION, first_ns, last_ns, token=True)

    @never_raises
    def exited(self, at_ns: int) -> None:
        """The child is gone."""
        if self._spawned is not None and self._spawned.end_ns is None:
            self._call.close_process(self._spawned, at_ns, kind=Phase.INFERENCE)
        elif self._last_ns is not None:
            self._call.write_phase(Phase.PROCESS_SHUTDOWN, self._last_ns, at_ns)
