"""The rules of Jaeger's views, on traces whose answer is known from Jaeger's own code."""

from __future__ import annotations

from itertools import count

import pytest

from backends.jaeger_views import Bar, critical_path, seconds_by_name, self_seconds_by

PHASES = {
    "prompt_build": 0.4,
    "process_startup": 6.0,
    "time_to_first_token": 62.5,
    "generation": 1.9,
    "transmission": 0.2,
    "post_processing": 0.3,
}
COST = {"generation": "generation", "transmission": "delivery", "post_processing": "delivery"}
CALL_US = round(sum(PHASES.values()) * 1e6)
WAVE_US = CALL_US + 1000


def two_waves_of_three(apart_us):
    """Six calls by three workers; each phase begins so long after the one before has ended."""
    ids = map(str, count())
    job = Bar(span_id=next(ids), parent_id=None, name="job", start_us=0, end_us=2 * WAVE_US)
    bars = [job]
    for wave in range(2):
        for worker in range(3):
            start_us = wave * WAVE_US + 10 * worker
            call = Bar(
                span_id=next(ids),
                parent_id=job.span_id,
                name="chat",
                start_us=start_us,
                end_us=start_us + CALL_US,
            )
            bars.append(call)
            for name, seconds in PHASES.items():
                end_us = start_us + round(seconds * 1e6)
                bars.append(
                    Bar(
                        span_id=next(ids),
                        parent_id=call.span_id,
                        name=name,
                        start_us=start_us,
                        end_us=end_us - apart_us,
                        tags={"llmphases.cost": COST.get(name, "fixed")},
                    )
                )
                start_us = end_us
    return bars


def path_of(bars):
    path = seconds_by_name(critical_path(bars))
    path.pop("job")
    return path


def test_phases_that_are_a_microsecond_apart_are_all_on_the_critical_path():
    """The expected seconds are what Jaeger's own code gave for these calls."""
    path = path_of(two_waves_of_three(apart_us=1))
    own = path.pop("chat")
    assert own < 0.0002
    assert path == pytest.approx(
        {
            "time_to_first_token": 125.0,
            "process_startup": 12.0,
            "generation": 3.8,
            "prompt_build": 0.8,
            "transmission": 0.4,
            "post_processing": 0.6,
        },
        abs=1e-5,
    )


def test_of_phases_that_touch_every_second_one_is_lost():
    """Why our spans never touch: the same calls, and the first token's wait is nobody's."""
    assert path_of(two_waves_of_three(apart_us=0)) == pytest.approx(
        {"chat": 126.2, "process_startup": 12.0, "generation": 3.8, "post_processing": 0.6}
    )


def test_of_parallel_calls_the_one_that_ends_last_is_on_the_path():
    bars = two_waves_of_three(apart_us=1)
    calls = [section.bar for section in critical_path(bars) if section.bar.name == "chat"]
    assert {bar.start_us % WAVE_US for bar in calls} == {20}


def test_self_time_by_cost_counts_what_overlaps_in_every_call():
    by_cost = self_seconds_by("llmphases.cost", two_waves_of_three(apart_us=0))
    by_cost.pop(None)
    assert by_cost == pytest.approx({"fixed": 6 * 68.9, "generation": 6 * 1.9, "delivery": 6 * 0.5})


def test_what_children_cover_together_is_taken_off_once():
    parent = Bar(span_id="p", parent_id=None, name="p", start_us=0, end_us=100)
    children = [
        Bar(span_id=name, parent_id="p", name=name, start_us=start, end_us=end, tags={"cost": "x"})
        for name, start, end in (("a", 10, 50), ("b", 20, 30), ("c", 40, 60), ("d", 90, 140))
    ]
    by_cost = self_seconds_by("cost", [parent, *children])
    assert by_cost == {None: 40 / 1e6, "x": (40 + 10 + 20 + 50) / 1e6}


def test_a_child_outside_its_parent_is_cut_or_left_out():
    parent = Bar(span_id="p", parent_id=None, name="p", start_us=100, end_us=200)
    late = Bar(span_id="l", parent_id="p", name="late", start_us=190, end_us=300)
    gone = Bar(span_id="g", parent_id="p", name="gone", start_us=300, end_us=400)
    path = seconds_by_name(critical_path([parent, late, gone]))
    assert path == {"p": 90 / 1e6, "late": 10 / 1e6}
