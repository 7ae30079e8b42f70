"""How what was traced came to its end."""

from __future__ import annotations

from llmphases.calls import Ended


def outcome(error: BaseException | None) -> tuple[Ended, str | None]:
    """How a body that left this way ended, and its `error.type` (None: no error)."""
    if error is None:
        return Ended.EXHAUSTED, None
    if isinstance(error, GeneratorExit):
        return Ended.CLOSED, None
    if isinstance(error, SystemExit):
        return Ended.EXIT, None
    name = type(error).__qualname__
    if isinstance(error, KeyboardInterrupt):
        return Ended.INTERRUPTED, name
    # by name, so that no event loop has to be imported
    return (Ended.CANCELLED if name == "CancelledError" else Ended.ERROR), name
