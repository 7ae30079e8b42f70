"""Generators that are one phase as a whole: `@retrieval` on a function that yields."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from llmphases.capture.blocks import PhaseBlock
from llmphases.capture.current import wired
from llmphases.capture.drivers import driven, driven_async
from llmphases.capture.flows import no_token
from llmphases.recorder.streams import Reading


class _NoNews:
    """A track that waits for nothing."""

    __slots__ = ()
    awaiting = 0
    limit_ns = 1 << 62


class PhaseFlow:
    """What a driver tells of a generator whose items are no tokens: that it began and ended."""

    __slots__ = ("_block", "context", "now", "track", "variable")

    def __init__(self, block: PhaseBlock) -> None:
        wiring = wired()
        self._block = block
        self.context: Any = None
        self.now = wiring.now
        self.track: Any = _NoNews()
        self.variable: Any = wiring.carrier.variable

    def start(self, driver: Callable[[], Any]) -> bool:
        """The phase begins with the first step; it is current in the steps only."""
        self.context = self._block.open()
        return self.context is not None

    def waited_ns(self) -> int:
        """Before the first step nothing has begun."""
        return 0

    def rule_for(self, chunk: Any) -> Callable[[Any], int]:
        """Items of a phase are no tokens."""
        return no_token

    def broken_rule(self) -> Callable[[Any], int]:
        """Never asked for: there is no rule to break."""
        return no_token

    def seen(self, at_ns: int, kind: int, context: Any) -> Any:
        """Never asked for."""
        return context

    def note(self, chunk: Any) -> None:
        """Items of a phase say nothing."""

    def long_stall(self, since_ns: int, length_ns: int) -> int:
        """A block owns all its time."""
        return _NoNews.limit_ns

    def over(
        self, reading: Reading, error: BaseException | None = None, last_chunk: Any = None
    ) -> None:
        """The phase ends with its generator."""
        self._block.close(error)


def phase_generator(source: Generator[Any, Any, Any], block: PhaseBlock) -> Any:
    """A generator like `source` that is one phase."""
    return driven(source, PhaseFlow(block))


def phase_async_generator(source: AsyncGenerator[Any, Any], block: PhaseBlock) -> Any:
    """An async generator like `source` that is one phase."""
    return driven_async(source, PhaseFlow(block))
