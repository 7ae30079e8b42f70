"""The requests and tools of one run, so that no event is said out of its turn."""

from __future__ import annotations

from collections.abc import Hashable

from llmphases.recorder.child_events import Answered, Event, Ready, RequestSeen, Token, ToolResult

_MOST_TOOLS = 256
"""How many tools that run side by side are told apart: more only happens where none ever ends."""


class Turns:
    """Turns what a format reads into events. Each method returns those that are due now.

    A request is open from the program's being ready, a tool's result or the first sign of a
    request until its answer is complete. Of tools that run side by side only the last result
    counts: only then is the next request sent.
    """

    __slots__ = ("_has_results", "_is_open", "_is_ready", "_tools")

    def __init__(self) -> None:
        self._is_ready = False
        self._is_open = False
        self._tools: set[Hashable] = set()
        self._has_results = False

    @property
    def has_tools(self) -> bool:
        """Whether a tool runs whose result is not there yet."""
        return bool(self._tools)

    def ready(self, rule: str) -> list[Event]:
        """The program says that it is up; when it says so again, it begins another request."""
        if self._is_ready:
            return self.seen()
        self._is_ready = self._is_open = True
        return [Ready(rule)]

    def seen(self) -> list[Event]:
        """A sign of a request: no tool of the requests before it runs any longer."""
        self._is_ready = self._is_open = True
        self._tools.clear()
        self._has_results = False
        return [RequestSeen()]

    def token(self, kind: int) -> list[Event]:
        """Tokens of the open request, or of one that begins with them; 0 is no token."""
        if not kind:
            return []
        self._is_ready = self._is_open = True
        return [Token(kind)]

    def answered(self) -> list[Event]:
        """The open request's answer is complete."""
        if not self._is_open:
            return []
        self._is_open = False
        return [Answered(), *self._next_request()]

    def failed(self) -> list[Event]:
        """The run failed, and with it a request that is open: it was never answered."""
        self._is_open = False
        return []

    def tool_started(self, name: Hashable) -> None:
        """The model has asked for a tool; `name` tells this run of it from others."""
        if len(self._tools) < _MOST_TOOLS:
            self._tools.add(name)

    def tool_ended(self, name: Hashable, *, still_answering: bool = False) -> list[Event]:
        """The result of a tool is there, also of one that nobody saw start.

        `still_answering`: the model's answer that asked for it is not complete yet, so that the
        next request has to wait for it.
        """
        self._tools.discard(name)
        self._has_results = True
        if still_answering or self._tools:
            return []
        return self.answered() or self._next_request()

    def _next_request(self) -> list[Event]:
        if self._tools or not self._has_results:
            return []
        self._has_results, self._is_open = False, True
        return [ToolResult()]
