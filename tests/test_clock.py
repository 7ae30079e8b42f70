"""The clock: whole nanoseconds that never go back."""

from __future__ import annotations

from llmphases import clock
from llmphases.clock import SystemClock


def test_monotonic_time_is_whole_and_does_not_go_back() -> None:
    stamps = [SystemClock.now() for _ in range(1000)]
    assert stamps == sorted(stamps)
    assert {type(stamp) for stamp in stamps} == {int}


def test_wall_time_is_nanoseconds_since_the_epoch() -> None:
    assert 1_700_000_000 < SystemClock.wall() / 1e9 < 10_000_000_000


def test_sleeping_takes_at_least_the_time_asked_for() -> None:
    began = SystemClock.now()
    clock.sleep(0.01)
    assert SystemClock.now() - began >= 9_900_000
