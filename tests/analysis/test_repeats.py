from __future__ import annotations

import pytest

from llmphases.analysis.repeats import Measured, repeats, slower, spread
from llmphases.calls import ProcessUse
from llmphases.phases import Phase
from reports.sample_groups import SECOND, call


def run(startup, generation, **more):
    return call(process_startup=startup, generation=generation, **more)


def test_a_spread_is_the_median_and_the_range_of_what_is_known():
    found = spread([3, None, 1, 10])
    assert (found.count, found.median, found.least, found.most) == (3, 3, 1, 10)
    assert spread([None]) is None


def test_times_are_those_of_the_runs_that_went_well():
    found = repeats(
        [run(1, 1), run(3, 1), run(50, 0, error_type="1")], workers=1, took_ns=9 * SECOND
    )
    assert (found.runs, found.failed, found.took_ns) == (3, 1, 9 * SECOND)
    assert found.duration.most == 4 * SECOND
    assert found.phases[Phase.PROCESS_STARTUP].median == 2 * SECOND


def test_if_none_went_well_they_are_of_all():
    found = repeats([run(1, 1, error_type="1")], workers=1, took_ns=SECOND)
    assert (found.failed, found.duration.median) == (1, 2 * SECOND)


def test_each_time_is_over_the_runs_that_have_it():
    found = repeats([run(1, 1), call(inference=5.0)], workers=2, took_ns=SECOND)
    assert found.phases[Phase.GENERATION].count == 1
    assert found.phases[Phase.INFERENCE].count == 1
    assert found.share.count == 1
    assert found.fixed.median == found.generation.median == SECOND
    assert Phase.TOOL not in found.phases


def test_what_no_run_knows_is_none():
    found = repeats([call(inference=5.0)], workers=1, took_ns=SECOND)
    assert found.share is found.memory_peak is found.cpu_share is found.first_token is None
    empty = repeats([], workers=1, took_ns=0)
    assert (empty.runs, empty.duration, dict(empty.phases)) == (0, None, {})


def test_what_processes_used():
    uses = [ProcessUse(cpu_ns=n, wall_ns=10, memory_peak=n * 100) for n in (1, 2, 3)]
    found = repeats([run(1, 1, process=use) for use in uses], workers=1, took_ns=1)
    assert found.cpu_share.median == pytest.approx(0.2)
    assert found.memory_peak.most == 300


def test_how_much_slower_company_makes():
    second = 1e9
    assert slower(spread([2 * second] * 2), spread([3 * second] * 3)) == pytest.approx(1.5)
    assert slower(spread([0]), spread([3 * second])) is None
    assert slower(None, spread([3 * second])) is None
    assert slower(spread([3 * second]), None) is None


def test_what_is_too_short_to_say_is_not_held_against_each_other():
    assert slower(spread([126_000]), spread([640_000])) is None
    assert slower(spread([126_000]), spread([640_000_000])) == pytest.approx(5079, abs=1)
    assert slower(spread([640_000_000]), spread([126_000])) is not None


def test_failures_are_not_held_against_runs_that_went_well():
    good = repeats([run(1, 2), run(1, 2, error_type="1")], workers=1, took_ns=1)
    bad = repeats([run(1, 2, error_type="1")], workers=2, took_ns=1)
    assert (good.went_well, bad.went_well) == (True, False)
    told = [
        Measured(name="x", exit_code=0, alone=alone, together=together).is_comparable
        for alone, together in ((good, good), (good, bad), (bad, good), (bad, bad), (good, None))
    ]
    assert told == [True, False, False, False, False]
