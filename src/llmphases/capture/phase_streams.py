"""Generators that are one phase as a whole: `@retrieval` on a function that yields."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Generator
from typing import Any

from llmphases.capture.blocks import PhaseBlock
from llmphases.capture.current import wired
from llmphases.capture.drivers import driven, driven_async
from llmphases.capture.untraced import NOTHING, Untraced
from llmphases.recorder.streams import Reading


class PhaseFlow(Untraced):
    """What a driver tells of a generator whose items are no tokens: that it began and ended."""

    __slots__ = ("_block",)

    def __init__(self, block: PhaseBlock) -> None:
        super().__init__()
        wiring = wired()
        self._block = block
        self.now = wiring.now
        self.variable = wiring.carrier.variable

    def start(self, driver: Callable[[], Any]) -> Reading | None:
        """The phase begins with the first step; it is current in the steps only."""
        self.context = self._block.open()
        return None if self.context is None else NOTHING

    def over(
        self, driver: Callable[[], Any], reading: Reading, error: BaseException | None,
        last_chunk: Any,
    ) -> None:  # fmt: skip
        """The phase ends with its generator."""
        self._block.close(error)


def phase_generator(source: Generator[Any, Any, Any], block: PhaseBlock) -> Any:
    """A generator like `source` that is one phase."""
    return driven(source, PhaseFlow(block))


def phase_async_generator(source: AsyncGenerator[Any, Any], block: PhaseBlock) -> Any:
    """An async generator like `source` that is one phase."""
    return driven_async(source, PhaseFlow(block))
