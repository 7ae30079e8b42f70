from __future__ import annotations

import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from llmphases.analysis.fit import (
    CONFIDENCE,
    FEWEST_CALLS,
    MOST_CALLS,
    Fit,
    NoFit,
    Reason,
    Unit,
    fit,
)
from llmphases.calls import Usage
from reports.sample_groups import call

MS = 1_000_000


def unseen(tokens, seconds, **more):
    """A call without a stream."""
    return call(inference=seconds, usage=Usage(output_tokens=tokens), **more)


def line(fixed_s, per_unit_s, sizes):
    return [unseen(size, fixed_s + per_unit_s * size) for size in sizes]


def sixty_requests(noise):
    """2,176 ms and 12.47 ms a token, as a regression over 60 requests of a real model found."""
    tokens = [round(30 * (1122 / 30) ** (n / 59)) for n in range(60)]
    return [unseen(n, max(0.1, 2.176 + 0.01247 * n + noise())) for n in tokens]


def naive_rate(call):
    return call.usage.output_tokens / (call.duration_ns / 1e9)


def test_rc_026_the_fit_finds_what_naive_rates_hide():
    rates = [naive_rate(one) for one in sixty_requests(lambda: 0.0)]
    assert (min(rates), max(rates)) == pytest.approx((11.7, 69.4), abs=0.1)  # of one model
    chance = random.Random(26)
    calls = sixty_requests(lambda: chance.gauss(0, 0.08))
    for at in (7, 23, 41, 55):
        calls[at] = unseen(calls[at].usage.output_tokens, 60.0)  # hung for a while
    found = fit(calls)
    assert found.calls == 60
    assert found.fixed_ns == pytest.approx(2176 * MS, rel=0.03)
    assert found.per_unit_ns == pytest.approx(12.47 * MS, rel=0.01)
    assert found.fixed_interval.low < 2176 * MS < found.fixed_interval.high
    assert found.per_unit_interval.low < 12.47 * MS < found.per_unit_interval.high
    assert found.per_unit_interval.high - found.per_unit_interval.low < 0.6 * MS
    assert (found.units.low, found.units.high) == (30, 1122)


def exponential(chance):
    return chance.expovariate(1 / 0.3)  # of median 0.3 * ln 2


@pytest.mark.parametrize(
    ("noise", "median"),
    [
        (lambda chance: chance.gauss(0, 0.2), 0.0),
        (exponential, 0.3 * 0.6931),
        (lambda chance: chance.gauss(0, 0.1) + (chance.random() < 0.1) * chance.gauss(0, 5), 0.0),
    ],
    ids=["normal", "skewed", "outliers"],
)
@pytest.mark.parametrize("sizes", [range(20, 90, 10), [20] * 8 + [40] * 8 + [80] * 8])
def test_the_intervals_hold_the_truth_as_often_as_they_say(noise, median, sizes):
    chance = random.Random(95)
    rounds = held = 0
    for _ in range(300):
        found = fit([unseen(n, max(0.001, 9 + 0.02 * n + noise(chance))) for n in sizes])
        fixed, slope = found.fixed_interval, found.per_unit_interval
        rounds += 1
        held += (
            fixed.low <= (9 + median) * 1e9 <= fixed.high and slope.low <= 0.02 * 1e9 <= slope.high
        )
    assert held / rounds >= CONFIDENCE - 0.025  # two standard deviations of 300 rounds


sizes = st.lists(st.integers(1, 5000), min_size=FEWEST_CALLS, max_size=25)
seconds = st.integers(1, 200_000).map(lambda ms: ms / 1000)


@given(sizes, seconds, st.integers(0, 3000).map(lambda ms: ms / 1000))
def test_an_exact_line_is_found_exactly(sizes, fixed, per_unit):
    found = fit(line(fixed, per_unit, sizes))
    assume(isinstance(found, Fit))
    assert found.fixed_ns == pytest.approx(fixed * 1e9, rel=1e-6)
    assert found.per_unit_ns == pytest.approx(per_unit * 1e9, rel=1e-6, abs=1)
    for interval, truth in (
        (found.fixed_interval, found.fixed_ns),
        (found.per_unit_interval, found.per_unit_ns),
    ):
        assert interval.low == pytest.approx(truth, rel=1e-6, abs=1)
        assert interval.high == pytest.approx(truth, rel=1e-6, abs=1)


@given(st.lists(st.tuples(st.integers(1, 500), seconds), min_size=FEWEST_CALLS, max_size=20))
def test_the_estimate_lies_in_its_interval(pairs):
    found = fit([unseen(*pair) for pair in pairs])
    assume(isinstance(found, Fit))
    assert found.per_unit_interval.low <= found.per_unit_ns <= found.per_unit_interval.high
    assert found.fixed_interval.low <= found.fixed_ns <= found.fixed_interval.high


@given(st.randoms(use_true_random=False), st.integers(1, 100))
def test_shifting_all_durations_shifts_the_fixed_cost_alone(chance, shift):
    pairs = [(n, 5 + 0.1 * n + chance.uniform(-1, 1)) for n in range(10, 110, 5)]
    before = fit([unseen(*pair) for pair in pairs])
    after = fit([unseen(n, s + shift) for n, s in pairs])
    assert after.per_unit_ns == pytest.approx(before.per_unit_ns, rel=1e-6)
    assert after.fixed_ns - before.fixed_ns == pytest.approx(shift * 1e9, rel=1e-6)


@given(
    st.randoms(use_true_random=False),
    st.integers(0, 19),
    st.floats(0.001, 1e5, allow_nan=False),
)
def test_one_wild_outlier_changes_nothing_much(chance, which, wild):
    pairs = [(n, 5 + 0.1 * n + chance.uniform(-0.1, 0.1)) for n in range(10, 210, 10)]
    calls = [unseen(*pair) for pair in pairs]
    calls[which] = unseen(pairs[which][0], wild)
    found = fit(calls)
    assert found.fixed_ns == pytest.approx(5e9, abs=0.15e9)
    assert found.per_unit_ns == pytest.approx(0.1e9, rel=0.02)


def test_few_calls_give_no_answer():
    calls = line(2, 0.01, range(10, 10 + FEWEST_CALLS * 10, 10))
    assert isinstance(fit(calls), Fit)
    few = fit(calls[1:])
    assert few == NoFit(
        unit=Unit.OUTPUT_TOKENS, reason=Reason.TOO_FEW_CALLS, calls=FEWEST_CALLS - 1
    )
    assert fit([]).reason is Reason.TOO_FEW_CALLS


@pytest.mark.parametrize(
    "sizes", [[100] * 30, range(100, 120), [100] * 58 + [300] * 2, [100] * 6 + [900]]
)
def test_units_that_hardly_vary_give_no_answer(sizes):
    assert fit(line(2, 0.01, sizes)).reason is Reason.UNITS_HARDLY_VARY


def test_what_is_no_line_gives_no_answer():
    falling = [unseen(n, 100 - n) for n in range(10, 90, 10)]
    assert fit(falling).reason is Reason.NOT_A_LINE
    from_below = [unseen(n, n - 5) for n in range(10, 90, 10)]
    assert fit(from_below).reason is Reason.NOT_A_LINE


def test_calls_that_cannot_tell_take_no_part():
    good = line(2, 0.01, range(10, 200, 10))
    others = [
        unseen(500, 1.0, error_type="TimeoutError"),
        call(inference=9.0),  # nobody counted
        call(time_to_first_token=9.0, generation=1.0, usage=Usage(output_tokens=5)),  # was seen
        call(cache_lookup=0.001, usage=Usage(output_tokens=400), cache_result="hit"),
    ]
    assert fit(good + others * 10) == fit(good)


def test_a_wait_of_known_kind_is_part_of_the_fixed_cost():
    calls = [
        call(retrieval=1.0, inference=2 + 0.01 * n, usage=Usage(output_tokens=n))
        for n in range(10, 200, 10)
    ]
    assert fit(calls).fixed_ns == pytest.approx(3e9)


def test_work_items_are_counted_where_they_are_asked_for():
    calls = [call(inference=68 + 1.9 * n, units=n) for n in (1, 2, 4, 8, 13, 26, 39)]
    found = fit(calls, Unit.WORK_ITEMS)
    assert (found.fixed_ns, found.per_unit_ns) == pytest.approx((68e9, 1.9e9))
    assert fit(calls).reason is Reason.TOO_FEW_CALLS


def test_of_very_many_calls_some_of_every_size_are_enough():
    chance = random.Random(1)
    calls = [unseen(n, 2 + 0.01 * n + chance.gauss(0, 0.1)) for n in range(1, 3001)]
    found = fit(calls)
    assert found.calls == MOST_CALLS
    assert (found.units.low, found.units.high) == (1, 3000)
    assert found.fixed_ns == pytest.approx(2e9, rel=0.02)
