"""The time: the only module that asks for it."""

from __future__ import annotations

import time
from typing import Protocol


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


def thread_cpu_ns() -> int:
    """The CPU time that the current thread has used; only differences mean anything."""
    return time.thread_time_ns()


def sleep(seconds: float) -> None:
    """Wait; here so that no other module needs `time`."""
    time.sleep(seconds)
