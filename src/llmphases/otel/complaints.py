"""One line when telemetry cannot be delivered, instead of the many that exporters print.

Left alone, the exporters' loggers print up to four lines for a collector that is not there, and
they may hold an address with its password.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from llmphases.observers import never_raises

logger = logging.getLogger("llmphases")

_notes: ContextVar[list[str] | None] = ContextVar("llmphases-export-notes", default=None)
_LOUD = ("opentelemetry.", "llmphases.otel.")
_REASONS = (
    (r"refused", "connection refused"),
    (r"code: (\d{3})", r"the answer was HTTP \1"),
    (r"(Connection|Read)?Timeout|timed out|DEADLINE_EXCEEDED", "no answer in time"),
    (r"resol|Name or service|getaddrinfo", "no such host"),
    (r"certificate|SSL", "TLS failed"),
    (r"StatusCode\.(\w+)|\b(UNAVAILABLE|UNAUTHENTICATED|UNIMPLEMENTED)\b", r"gRPC \1\2"),
    (r"max_request_size", "the batch was too large"),
    (r"Failed to write spans to .*: (.*)", r"\1"),
)


class _HoldBack(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        notes = _notes.get()
        if notes is None:
            return True
        fault = record.exc_info[1] if record.exc_info else None
        notes.append(record.getMessage() if fault is None else f"{record.getMessage()}: {fault}")
        return False


_HOLD_BACK = _HoldBack()


def watch_loggers() -> None:
    """From now on, what exporters log during `held_back` is noted and not printed.

    Filters of a logger do not hold for its children, so each gets one; a second has no effect.
    Ours is among them: an exporter that raises is one more that does not deliver.
    """
    logger.addFilter(_HOLD_BACK)
    for name in list(logging.root.manager.loggerDict):
        if name.startswith(_LOUD):
            logging.getLogger(name).addFilter(_HOLD_BACK)


@contextmanager
def held_back() -> Iterator[list[str]]:
    """Notes what is logged inside, in this thread, by the loggers that are watched."""
    notes: list[str] = []
    token = _notes.set(notes)
    try:
        yield notes
    finally:
        _notes.reset(token)


def reason_in(notes: Sequence[str]) -> str:
    """Why an export failed, in a few words of ours: what was logged may hold secrets."""
    for note in notes:
        for pattern, reason in _REASONS:
            if found := re.search(pattern, note, re.IGNORECASE):
                return found.expand(reason)
    return "no reason was given"


class Late(NamedTuple):
    """Something that was not delivered in time."""

    what: str
    where: str
    why: str


class Complaints:
    """Says one line about each kind of trouble, whichever signal it is with first."""

    def __init__(self) -> None:
        self._said: set[str] = set()

    def undelivered(self, what: str, where: str, why: str) -> None:
        """Something did not arrive, while the program runs."""
        hint = ""
        if what == "metrics" and "HTTP 404" in why:
            hint = " (if it takes traces only, configure with metrics=False)"
        self._say(
            "undelivered",
            f"{what} could not be delivered to {where}: {why}{hint}. The program goes on; this is "
            "said once.",
        )

    def at_the_end(self, late: Late | None, dropped: int, capacity: int) -> None:
        """What had not arrived when the program had to end, and what was lost before.

        Spans are dropped where more are waiting than there is room for.
        """
        lost = (
            f"{dropped} spans were dropped: more than {capacity} were waiting. "
            "OTEL_BSP_MAX_QUEUE_SIZE makes room for more."
        )
        if late is not None and "undelivered" not in self._said:
            text = f"{late.what} could not be delivered to {late.where} before the program's end"
            self._say("undelivered", f"{text}: {late.why}." + (f" {lost}" if dropped else ""))
        elif dropped:
            self._say("dropped", lost)

    def _say(self, kind: str, text: str) -> None:
        if kind not in self._said:
            self._said.add(kind)
            never_raises(logger.warning)("llmphases: %s", text)
