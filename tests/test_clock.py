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


class Interrupted:
    """Clocks that agree, read by a thread that is held up before some of its readings."""

    def __init__(self, *held_up_ns: int) -> None:
        self._held_up_ns = list(held_up_ns)
        self._at_ns = 1_000
        self.readings = 0

    def now(self) -> int:
        return self._at_ns

    def wall(self) -> int:
        self.readings += 1
        wall_ns = self._at_ns + 7_000_000
        self._at_ns += self._held_up_ns.pop(0) if self._held_up_ns else 0
        return wall_ns


def test_the_clocks_are_read_once_where_nothing_comes_in_between() -> None:
    clocks = Interrupted()
    assert clock.anchored(clocks.now, clocks.wall) == (1_000, 7_000_000)
    assert clocks.readings == 1


def test_the_clocks_are_read_again_where_something_came_in_between() -> None:
    clocks = Interrupted(30_000_000, 8_000_000, 40)
    assert clock.anchored(clocks.now, clocks.wall) == (1_000, 7_000_000 - 20)
    assert clocks.readings == 3


def test_of_a_few_readings_that_are_all_bad_the_closest_counts() -> None:
    clocks = Interrupted(900_000, 700_000, 100_000, 800_000, 600_000, 0)
    assert clock.anchored(clocks.now, clocks.wall) == (1_000, 7_000_000 - 50_000)
    assert clocks.readings == 5


def test_the_machines_clocks_are_anchored_closely() -> None:
    at_ns, offset_ns = clock.anchored(SystemClock.now, SystemClock.wall)
    assert abs(at_ns + offset_ns - SystemClock.wall()) < 10_000_000_000


def test_sleeping_takes_at_least_the_time_asked_for() -> None:
    began = SystemClock.now()
    clock.sleep(0.01)
    assert SystemClock.now() - began >= 9_900_000
