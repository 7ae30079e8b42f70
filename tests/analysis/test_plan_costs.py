from __future__ import annotations

import pytest

from llmphases.analysis.fit import NoFit, Reason
from llmphases.analysis.plan_costs import costs, memory_peak
from llmphases.calls import ProcessUse
from reports.sample_groups import call


def seen(units, startup=68.0, **more):
    return call(process_startup=startup, generation=1.9 * units, units=units, **more)


def test_one_call_whose_generation_was_seen_is_enough():
    found = costs([seen(1)])
    assert (found.fixed_ns, found.per_unit_ns, found.calls) == pytest.approx((68e9, 1.9e9, 1))
    assert found.fit is None


def test_of_several_it_is_the_median():
    found = costs([seen(1), seen(4), seen(9, startup=500.0)])
    assert (found.fixed_ns, found.per_unit_ns) == pytest.approx((68e9, 1.9e9))


def test_what_comes_after_generation_is_paid_per_unit_too():
    found = costs([seen(10, post_processing=1.0)])
    assert found.per_unit_ns == pytest.approx(2.0e9)


def test_where_no_generation_was_seen_the_line_through_the_calls_tells():
    found = costs([call(inference=68 + 1.9 * n, units=n) for n in range(1, 10)])
    assert (found.fixed_ns, found.per_unit_ns, found.calls) == pytest.approx((68e9, 1.9e9, 9))
    assert found.fit.fixed_ns == found.fixed_ns


@pytest.mark.parametrize(
    "calls",
    [
        [],
        [call(process_startup=1.0, generation=1.0)] * 9,  # nobody said how many units
        [seen(5, error_type="TimeoutError")] * 9,
        [seen(0)] * 9,
        [call(cache_lookup=0.1, units=4, unattributed=0.1)] * 9,  # nothing was generated
    ],
)
def test_calls_that_tell_nothing_are_not_believed(calls):
    found = costs(calls)
    assert isinstance(found, NoFit)
    assert found.reason is Reason.TOO_FEW_CALLS


def test_the_memory_of_a_call_is_the_highest_peak():
    uses = [ProcessUse(memory_peak=peak) for peak in (100, 300, None, 200)]
    assert memory_peak([*(seen(1, process=use) for use in uses), seen(1)]) == 300
    assert memory_peak([seen(1)]) is None
