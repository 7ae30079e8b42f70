"""An observer that writes one line per call to `logging`, for those who ask."""

from __future__ import annotations

import logging

from llmphases.calls import Call
from llmphases.observers import Observer, OpenCall
from llmphases.phases import Cost

logger = logging.getLogger("llmphases.calls")


class LoggingObserver(Observer):
    """One line per call, at INFO, on the logger `llmphases.calls`."""

    def call_ended(self, call: OpenCall, record: Call) -> None:
        """Say it."""
        if logger.isEnabledFor(logging.INFO):
            logger.info("%s", line_of(record))


def line_of(record: Call) -> str:
    """One call in one line: name, duration, what each cost took, first token, error."""
    parts = [f"{record.name}: {_seconds(record.duration_ns)}"]
    parts += [f"{cost.value} {_seconds(ns)}" for cost in Cost if (ns := record.cost_ns(cost)) > 0]
    if record.first_token_ns is not None:
        parts.append(f"first token {_seconds(record.first_token_ns)}")
    if record.fixed_share is not None:
        parts.append(f"{record.fixed_share:.0%} fixed")
    if record.retries:
        parts.append(f"{record.retries} retries")
    if record.error_type is not None:
        parts.append(f"failed: {record.error_type}")
    return ", ".join(parts)


def _seconds(ns: int) -> str:
    return f"{ns / 1e9:.3f} s"
