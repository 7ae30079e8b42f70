from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmphases.analysis.plan import Ceilings, Limit, Rule, Work, plan

STORY = Work(units=156, workers=4, fixed_ns=68e9, per_unit_ns=1.9e9)


def option_of(found, chunks):
    (one,) = [option for option in found.options if option.chunks == chunks]
    return one


def test_of_the_story_four_chunks_in_one_wave_are_best():
    found = plan(STORY)
    best = found.recommended
    assert (best.chunks, best.waves, best.largest) == (4, 1, 39)
    assert best.predicted_ns == pytest.approx(142.1e9)
    assert found.rule is Rule.ONE_WAVE
    assert (found.limits, found.today, found.workers) == ((), None, 4)


def test_of_the_story_one_call_pays_once_and_waits_for_all():
    assert option_of(plan(STORY), 1).predicted_ns == pytest.approx(364.4e9)


def test_of_the_story_a_call_for_each_unit_pays_in_39_waves():
    each = option_of(plan(STORY), 156)
    assert (each.waves, each.largest) == (39, 1)
    assert each.predicted_ns == pytest.approx(39 * 69.9e9)


def test_every_number_of_chunks_is_an_option():
    assert [option.chunks for option in plan(STORY).options] == list(range(1, 157))


@cache
def partitions(units, largest):
    """Every way to split, as sizes that do not grow."""
    if not units:
        return [()]
    return [
        (size, *rest)
        for size in range(min(units, largest), 0, -1)
        for rest in partitions(units - size, size)
    ]


def least_possible(units, workers, fixed, per_unit, largest):
    """Over every way to split and every way to give the pieces to workers."""
    least = None
    for sizes in partitions(units, largest):
        loads = {(0,) * workers}
        for size in sizes:
            took = fixed + per_unit * size
            loads = {
                tuple(sorted((*load[:at], load[at] + took, *load[at + 1 :])))
                for load in loads
                for at in range(workers)
            }
        shortest = min(max(load) for load in loads)
        least = shortest if least is None else min(least, shortest)
    return least


@given(
    st.integers(1, 9), st.integers(1, 3), st.integers(0, 9), st.integers(1, 5), st.integers(1, 9)
)
def test_nothing_is_faster_than_what_is_recommended(units, workers, fixed, per_unit, largest):
    work = Work(units=units, workers=workers, fixed_ns=fixed, per_unit_ns=per_unit)
    found = plan(work, Ceilings(max_units_per_call=largest))
    assert found.recommended.predicted_ns == least_possible(
        units, workers, fixed, per_unit, largest
    )
    assert found.recommended.largest <= largest


works = st.builds(
    Work,
    units=st.integers(1, 60),
    workers=st.integers(1, 9),
    fixed_ns=st.integers(0, 100).map(lambda s: s * 1e9),
    per_unit_ns=st.integers(1, 20).map(lambda s: s * 1e9),
    contention=st.sampled_from([0.0, 0.1, 0.5, 1.0, 2.0]),
)
ceilings = st.builds(
    Ceilings,
    max_units_per_call=st.none() | st.integers(1, 60),
    memory_per_call=st.none() | st.integers(1, 10),
    memory_limit=st.none() | st.integers(10, 50),
    requests_per_minute=st.none() | st.integers(1, 20),
)


@given(works, ceilings)
def test_ceilings_are_respected_and_the_best_is_the_best(work, held):
    found = plan(work, held)
    largest = held.max_units_per_call or work.units
    assert all(option.largest <= largest for option in found.options)
    assert min(option.chunks for option in found.options) == -(-work.units // largest)
    if held.memory_per_call and held.memory_limit:
        assert found.workers * held.memory_per_call <= held.memory_limit
    fastest = min(option.predicted_ns for option in found.options)
    assert found.recommended.predicted_ns == pytest.approx(fastest)
    # No way to split can do more at a time than there are workers.
    at_once = work.units * work.per_unit_ns / found.workers
    assert fastest >= at_once * (1 - 1e-9)


@given(works, ceilings)
def test_a_ceiling_makes_nothing_faster(work, held):
    assert plan(work, held).recommended.predicted_ns >= (
        plan(work).recommended.predicted_ns * (1 - 1e-9)
    )


@pytest.mark.parametrize(
    ("held", "limit", "chunks", "waves"),
    [
        (Ceilings(max_units_per_call=20), Limit.MAX_UNITS_PER_CALL, 8, 2),
        (Ceilings(memory_per_call=300, memory_limit=700), Limit.MEMORY, 2, 1),
        (Ceilings(requests_per_minute=1), Limit.REQUESTS_PER_MINUTE, 2, 1),
    ],
)
def test_a_ceiling_that_changes_the_plan_is_named(held, limit, chunks, waves):
    found = plan(STORY, held)
    assert found.limits == (limit,)
    assert (found.recommended.chunks, found.recommended.waves) == (chunks, waves)


def test_of_two_equally_strict_ceilings_both_are_named():
    work = Work(units=100, workers=4, fixed_ns=1e9, per_unit_ns=1e9)
    held = Ceilings(memory_per_call=1, memory_limit=1, requests_per_minute=1)
    assert Limit.MEMORY in plan(work, held).limits
    assert Limit.REQUESTS_PER_MINUTE in plan(work, held).limits


def test_a_ceiling_that_changes_nothing_is_not_named():
    held = Ceilings(max_units_per_call=39, memory_per_call=1, memory_limit=4, requests_per_minute=4)
    assert plan(STORY, held).limits == ()


def test_without_room_for_one_call_there_is_no_plan():
    found = plan(STORY, Ceilings(memory_per_call=2, memory_limit=1))
    assert (found.recommended, found.options, found.workers) == (None, (), 0)
    assert found.limits == (Limit.MEMORY,)


@pytest.mark.parametrize(
    ("changed", "chunks", "rule"),
    [
        ({"workers": 1}, 1, Rule.ONE_CALL),
        ({"units": 1}, 1, Rule.ONE_CALL),
        ({"units": 3}, 3, Rule.ONE_WAVE),
        ({"units": 9, "workers": 8}, 5, Rule.ONE_WAVE),
        ({"contention": 1.0}, 1, Rule.ONE_CALL),
        ({"contention": 0.6, "workers": 8}, 2, Rule.FEWER),
    ],
)
def test_the_rule_says_why(changed, chunks, rule):
    found = plan(replace(STORY, **changed))
    assert (found.recommended.chunks, found.rule) == (chunks, rule)


def test_more_than_run_at_once_are_taken_where_a_ceiling_asks_for_it():
    assert plan(STORY, Ceilings(max_units_per_call=5)).rule is Rule.SEVERAL_WAVES


def test_what_is_done_today_is_predicted_too():
    today = plan(STORY, Ceilings(max_units_per_call=50), today=1).today
    assert today.predicted_ns == pytest.approx(364.4e9)


def test_of_very_many_units_few_counts_are_looked_at_and_the_best_is_among_them():
    work = Work(units=1_000_000, workers=16, fixed_ns=68e9, per_unit_ns=1.9e9)
    found = plan(work, Ceilings(max_units_per_call=500))
    assert len(found.options) < 300
    best = found.recommended
    assert best.chunks % 16 == 0
    assert best.predicted_ns == pytest.approx(
        (125 * 68 + 62_500 * 1.9) * 1e9  # 125 calls and 62,500 units for each worker
    )


@pytest.mark.parametrize(("units", "workers"), [(50_000, 50_000), (1_000_000, 20_000)])
def test_a_wave_of_very_many_workers_is_among_them_as_well(units, workers):
    work = Work(units=units, workers=workers, fixed_ns=68e9, per_unit_ns=1.9e9)
    assert plan(work).recommended.chunks == workers


def test_of_equally_fast_ways_that_with_the_fewest_chunks_is_best_however_small_the_times():
    work = Work(units=10, workers=3, fixed_ns=0.0, per_unit_ns=1e-3)
    assert plan(work).recommended.chunks == 3
    assert plan(replace(work, per_unit_ns=0.0)).recommended.chunks == 1
