"""What a format has read, told to the recorder in its own words."""

from __future__ import annotations

import re

from llmphases.calls import Usage
from llmphases.capture.children.printable import PrintableText
from llmphases.capture.values import clean_text
from llmphases.conventions import OTHER_ERROR
from llmphases.recorder import CallRecorder
from llmphases.recorder.child_events import (
    Answered,
    Event,
    Ready,
    RequestSeen,
    Retry,
    Said,
    Token,
    ToolResult,
)
from llmphases.recorder.children import ChildRecorder
from llmphases.recorder.reported import ReportedTimes

_WORD = re.compile(r"[\w.:-]{1,64}")


class Told:
    """Turns the events of one child into moments; an event whose time nobody knows is none."""

    def __init__(
        self, call: CallRecorder, child: ChildRecorder, spawned_ns: int, *, is_text: bool
    ) -> None:
        self._call = call
        self._child = child
        self._spawned_ns = spawned_ns
        self._is_text = is_text
        self._kinds: set[int] = set()
        self._token_ns: int | None = None
        self._usage: Usage | None = None
        self._times: ReportedTimes | None = None
        self.has_moments = False
        """Whether its output is in the format that was expected, and not just text."""
        self.error: str | None = None
        """The program's own word for why it failed."""

    def event(self, event: Event, at_ns: int | None) -> None:
        """An event, by a line that began to arrive then."""
        if isinstance(event, Said):
            self._said(event, at_ns)
        elif at_ns is not None:
            self.has_moments = True
            self._moment(event, at_ns)

    def conclude(self, text: PrintableText, *, streams: bool) -> None:
        """All output has been read: what only now is known, and text if that is all there was."""
        times = self._times
        if text.first_ns is not None and text.last_ns is not None and not self.has_moments:
            self._child.text(
                text.first_ns, text.last_ns, streams=True if streams else None, times=times
            )
            self._times = None
        self.conclude_facts()

    def conclude_facts(self) -> None:
        """The same, where the moments were seen elsewhere."""
        if self._times is not None:
            self._call.note_reported(self._times.raw)  # nothing to compare them with
        if self._usage is not None:
            self._call.add_usage(self._usage)

    def _moment(self, event: Event, at_ns: int) -> None:
        match event:
            case Ready(rule, age_ns):
                self._ready(rule, age_ns, at_ns)
            case RequestSeen():
                self._child.event(at_ns)
            case Token(kind):
                self._token(kind, at_ns)
            case Answered():
                self._answered(at_ns)
            case ToolResult():
                self._forget_tokens()
                self._child.tool_result(at_ns)
            case Retry(reason, delay_ns):
                self._forget_tokens()
                resend_ns = None if delay_ns is None else at_ns + delay_ns
                self._child.failed(at_ns, resend_ns, error_type=_kind(reason))

    def _ready(self, rule: str, age_ns: int, at_ns: int) -> None:
        ready_ns = at_ns - age_ns
        if age_ns:
            is_possible = ready_ns >= self._spawned_ns
            self._call.note_reported({}, trusted=is_possible)
            if not is_possible:
                return
        self._child.ready(ready_ns, rule)

    def _token(self, kind: int, at_ns: int) -> None:
        if not self._child.has_open_request:
            self._forget_tokens()
        self._token_ns = at_ns
        if kind not in self._kinds:
            self._kinds.add(kind)
            self._child.first_token(at_ns, kind)

    def _answered(self, at_ns: int) -> None:
        token_ns = self._token_ns
        self._forget_tokens()
        if token_ns is None:
            self._child.answered(at_ns)
        else:
            self._child.last_token(token_ns)

    def _forget_tokens(self) -> None:
        self._kinds.clear()
        self._token_ns = None

    def _said(self, said: Said, at_ns: int | None) -> None:
        facts = self._call.facts
        if said.usage is not None:
            self._usage = said.usage
        if said.model is not None:
            facts.response_model = clean_text(said.model)
            facts.request_model = facts.request_model or facts.response_model
        if said.provider is not None and facts.provider is None:
            facts.provider = clean_text(said.provider)
        if said.error is not None:
            self.error = _kind(said.error)
            if at_ns is not None and self._child.has_open_request:
                self._child.failed(at_ns, error_type=self.error)
        if said.reported is not None:
            self._report(said.reported)

    def _report(self, times: ReportedTimes) -> None:
        if self._is_text:
            self._times = times
        else:
            self._child.report(times)


def _kind(reason: str | None) -> str | None:
    """A reason as an `error.type`: one word. A sentence may quote what was asked or answered."""
    if reason is None:
        return None
    return clean_text(reason) if _WORD.fullmatch(reason) else OTHER_ERROR
