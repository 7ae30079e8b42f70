from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmphases.analysis.plan_schedule import finished_ns

MINUTE = 60e9


def by_small_steps(needed, workers, contention=Fraction(0), per_minute=None):
    """The same, told by looking at every call at every change, in exact numbers."""
    waiting, running, starts, now = list(needed), [], [], Fraction(0)
    minute = Fraction(int(MINUTE))
    while waiting or running:
        soonest = now
        if per_minute is not None and len(starts) >= per_minute:
            soonest = max(now, starts[-per_minute] + minute)
        if waiting and len(running) < workers and soonest == now:
            running.append(Fraction(waiting.pop(0)))
            starts.append(now)
            continue
        slower = 1 + contention * (len(running) - 1)
        steps = [left * slower for left in running]
        if waiting and len(running) < workers:
            steps.append(soonest - now)
        step = min(steps)
        now += step
        running = [left - step / slower for left in running] if running else []
        running = [left for left in running if left > 0]
    return now


needs = st.lists(st.integers(1, 200).map(lambda s: s * 1_000_000_000), max_size=9)


@given(
    needs,
    st.integers(1, 5),
    st.sampled_from([Fraction(n, 4) for n in range(7)]),
    st.none() | st.integers(1, 5),
)
def test_the_end_is_that_of_a_simulation_in_exact_numbers(needed, workers, contention, per_minute):
    found = finished_ns(
        needed, workers=workers, contention=float(contention), per_minute=per_minute
    )
    exact = by_small_steps(needed, workers, contention, per_minute)
    assert found == pytest.approx(float(exact), rel=1e-9)


def test_a_worker_takes_the_next_as_soon_as_it_is_free():
    assert finished_ns([5, 1, 1, 1, 1], workers=2) == 5
    assert finished_ns([3, 3, 1], workers=2) == 4


def test_who_runs_alone_again_is_as_fast_as_alone():
    # Both at half speed until 4, when the shorter is over; then 3 at full speed.
    assert finished_ns([5, 2], workers=2, contention=1.0) == 4 + 3


def test_a_limit_of_requests_holds_the_next_back():
    assert finished_ns([1e9] * 3, workers=3, per_minute=2) == MINUTE + 1e9
    assert finished_ns([90e9] * 2, workers=1, per_minute=1) == 180e9


def test_nothing_to_do_takes_no_time():
    assert finished_ns([], workers=1) == 0
