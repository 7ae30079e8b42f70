"""What a busy machine may hide, seen at least once in a few tries.

A process that has to wait for a CPU stamps late what it sees, or leaves it unset because it may be
late. That is no fault. So a test says two things: what holds however late everybody is, by plain
asserts, and what a stamp is when nobody was late, once:

    for attempt in tries():
        call = traced(...)
        assert phases(call) in SPLIT_OR_NOT  # fails at once
        with attempt:
            assert phases(call) == SPLIT  # fails if it fails in each try
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import TracebackType
from typing import Self

TRIES = 10
_PAUSE_S = 0.05


class Attempt:
    """The part of a try that need not succeed; an `AssertionError` in it leads to the next one."""

    def __init__(self, number: int, *, is_last: bool) -> None:
        self.number = number
        """From 0."""
        self.was_made = self.has_succeeded = False
        self._is_last = is_last

    def longer(self, seconds: float) -> float:
        """A time for something that may take its time: more with each try."""
        return seconds * 1.6**self.number

    def __enter__(self) -> Self:
        self.was_made = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        self.has_succeeded = kind is None
        return kind is not None and issubclass(kind, AssertionError) and not self._is_last


def tries(count: int = TRIES) -> Iterator[Attempt]:
    """Attempts, until one succeeds; the failure of the last one is the test's."""
    for number in range(count):
        attempt = Attempt(number, is_last=number == count - 1)
        yield attempt
        assert attempt.was_made, "each try has to make its attempt"
        if attempt.has_succeeded:
            return
        time.sleep(_PAUSE_S * number)  # whoever is in the way may be gone by then
