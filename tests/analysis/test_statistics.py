from __future__ import annotations

import statistics as stdlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmphases.analysis.statistics import quantile, statistics


def test_nothing_has_no_statistics():
    assert statistics([]) is None


def test_one_value_is_all_of_its_statistics():
    found = statistics([7])
    assert (found.p50_ns, found.p95_ns, found.mean_ns, found.total_ns) == (7, 7, 7, 7)
    assert found.count == 1


def test_between_two_values_percentiles_are_interpolated_linearly():
    found = statistics([40, 10, 20, 30])
    assert found.p50_ns == 25
    assert found.p95_ns == pytest.approx(38.5)
    assert found.mean_ns == 25


@given(st.lists(st.integers(0, 10**12), min_size=2))
def test_percentiles_are_those_of_the_standard_library(values):
    expected = stdlib.quantiles(values, n=100, method="inclusive")
    ordered = sorted(values)
    assert quantile(ordered, 0.5) == pytest.approx(expected[49])
    assert quantile(ordered, 0.95) == pytest.approx(expected[94])
