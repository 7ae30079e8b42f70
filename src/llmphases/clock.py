"""The time: the only module that asks for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Protocol

_CLOSE_NS: Final = 50_000
_READINGS: Final = 5


class Clock(Protocol):
    """What llmphases needs of a clock; `testing.FakeClock` is another one."""

    def now(self) -> int:
        """Monotonic time in nanoseconds; only differences mean anything."""
        ...

    def wall(self) -> int:
        """Nanoseconds since the Unix epoch; asked once per call, as the anchor of its spans."""
        ...


class SystemClock:
    """The machine's clocks. `now` is the built-in itself, so a stamp costs 40 ns."""

    now = staticmethod(time.perf_counter_ns)
    wall = staticmethod(time.time_ns)


def anchored(now: Callable[[], int], wall: Callable[[], int]) -> tuple[int, int]:
    """The monotonic time, and how far the wall clock is ahead of it.

    The two clocks cannot be read at once. Where something came in between, they are read again;
    the closest of a few readings counts.
    """
    first_ns = before_ns = now()
    closest_ns = offset_ns = None
    for _ in range(_READINGS):
        wall_ns, after_ns = wall(), now()
        apart_ns = after_ns - before_ns
        if closest_ns is None or apart_ns < closest_ns:
            closest_ns, offset_ns = apart_ns, wall_ns - (before_ns + apart_ns // 2)
        if apart_ns <= _CLOSE_NS:
            break
        before_ns = after_ns
    assert offset_ns is not None
    return first_ns, offset_ns


def thread_cpu_ns() -> int:
    """The CPU time that the current thread has used; only differences mean anything."""
    return time.thread_time_ns()


def sleep(seconds: float) -> None:
    """Wait; here so that no other module needs `time`."""
    time.sleep(seconds)
