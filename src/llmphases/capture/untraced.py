"""What a driver tells to when there is nobody to tell: the quiet end of the contract of flows."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

from llmphases.recorder.streams import Reading

NOTHING: Final = Reading(0, None, None, 0, 0)
"""The sums of a stream of which nothing has been read."""


def no_token(chunk: Any) -> int:
    """The rule for items that are no tokens, and the one that replaces a broken rule."""
    return 0


class _Quiet:
    """A track that waits for nothing."""

    __slots__ = ()
    awaiting = 0
    limit_ns = 1 << 62


class Untraced:
    """Told by a driver whose stream nobody listens to: `yield from` would not be exact."""

    __slots__ = ("context", "now", "track", "variable")
    _variable: Final[ContextVar[Any]] = ContextVar("llmphases untraced")

    def __init__(self) -> None:
        self.now: Callable[[], int] = int
        self.context: Any = None
        self.track: Any = _Quiet()
        self.variable: Any = self._variable

    def start(self, driver: Callable[[], Any]) -> Reading | None:
        """There is nothing to begin."""
        return NOTHING

    def rule_for(self, chunk: Any) -> Callable[[Any], int]:
        """Items are no tokens."""
        return no_token

    def broken_rule(self) -> Callable[[Any], int]:
        """Never asked for: there is no rule to break."""
        return no_token

    def seen(self, at_ns: int, kind: int, context: Any) -> Any:
        """Never told."""
        return context

    def note(self, chunk: Any) -> None:
        """Items say nothing."""

    def long_stall(self, since_ns: int, length_ns: int) -> int:
        """Never told."""
        return _Quiet.limit_ns

    def over(
        self, driver: Callable[[], Any], reading: Reading, error: BaseException | None,
        last_chunk: Any,
    ) -> None:  # fmt: skip
        """There is nothing to end."""
