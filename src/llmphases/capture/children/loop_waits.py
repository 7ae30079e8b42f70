"""Whether the event loop was waiting when a pipe became ready: then it was woken by the arrival."""

from __future__ import annotations

import selectors
from collections.abc import Callable
from typing import Any

from llmphases.observers import never_raises


class LoopWaits:
    """Stands in front of the `select` of one loop's selector while children of it are timed."""

    def __init__(self, selector: selectors.BaseSelector, now: Callable[[], int]) -> None:
        self._selector: Any = selector
        self._now = now
        self._users = 0
        self._select = selector.select
        self.woken_ns: int | None = None
        """When what is dealt with now became ready; None if it was ready before."""

    def begin(self) -> None:
        """One more child."""
        self._users += 1
        if self._users == 1:
            self._selector.select = self._look_and_wait

    def end(self) -> None:
        """One less."""
        self._users -= 1
        if self._users == 0 and self._selector.__dict__.get("select") == self._look_and_wait:
            del self._selector.select

    def _look_and_wait(self, timeout: float | None = None) -> Any:
        self.woken_ns = None
        ready = self._select(0)
        if ready or timeout == 0:
            return ready
        ready = self._select(timeout)
        self.woken_ns = self._now()
        return ready


@never_raises
def waits_of(loop: Any, now: Callable[[], int]) -> LoopWaits | None:
    """Of a loop that is built on `selectors`; None for others."""
    selector = getattr(loop, "_selector", None)
    if not isinstance(selector, selectors.BaseSelector):
        return None
    known = selector.__dict__.get("select")
    owner = getattr(known, "__self__", None)
    return owner if isinstance(owner, LoopWaits) else LoopWaits(selector, now)
