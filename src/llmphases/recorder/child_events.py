"""What the output of a child process says, as events without times: when they came is measured.

A format turns lines of output into these; `capture.children` gives each the time at which its
line arrived, and the recorder makes phases of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from llmphases.calls import Usage
from llmphases.recorder.reported import ReportedTimes
from llmphases.recorder.streams import ANSWER


@dataclass(frozen=True, slots=True)
class Ready:
    """The program is up: its own start-up is over, its first request goes out."""

    rule: str
    """What tells so, e.g. `init_event`; becomes `llmphases.first_token.rule`."""
    age_ns: int = 0
    """How long it has been ready when its line comes, by the program's own clock (`own_clock`).

    0: since the line itself. More than the child has lived is not true: then it stays unknown.
    """


@dataclass(frozen=True, slots=True)
class RequestSeen:
    """The first sign of a request that is no token: it may be the first, or one more."""


@dataclass(frozen=True, slots=True)
class Token:
    """Output tokens of the newest request have arrived, as a part of the answer or of reasoning."""

    kind: int = ANSWER


@dataclass(frozen=True, slots=True)
class Answered:
    """The newest request's answer is complete; its last token was the last `Token` before."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """A tool has answered; the next request goes out. Since the last answer a tool ran."""


@dataclass(frozen=True, slots=True)
class Retry:
    """The newest request failed and will be sent again by the program itself."""

    reason: str | None = None
    """Status or kind of failure, low in cardinality."""
    delay_ns: int | None = None
    """How long the program says it will wait before it sends again; None if it does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What the program tells of its requests; None where it does not."""

    usage: Usage | None = None
    """Of the whole run: what is said later overrules what was said before."""
    model: str | None = None
    provider: str | None = None
    reported: ReportedTimes | None = None
    error: str | None = None
    """The program's own word that it failed, as an `error.type`; a request still open failed so."""


Event = Ready | RequestSeen | Token | Answered | ToolResult | Retry | Said
