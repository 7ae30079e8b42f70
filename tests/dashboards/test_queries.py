from __future__ import annotations

import re

import pytest

from dashboards import queries as q
from llmphases import conventions as names


@pytest.mark.parametrize("value", names.SECONDS)
def test_a_boundary_is_found_however_le_is_written_and_no_other_is(value):
    pattern = re.compile(q.boundary_pattern(value))
    written = {f"{value:g}", f"{float(value)}"}
    assert all(pattern.fullmatch(le) for le in written)
    others = {f"{bound:g}" for bound in names.SECONDS} - written
    assert not any(pattern.fullmatch(le) for le in others)


def test_a_boundary_needs_no_backslash_which_grafana_and_yaml_read_differently():
    assert not any("\\" in q.boundary_pattern(value) for value in names.SECONDS)


def test_a_sum_is_by_the_labels_that_are_asked_for():
    assert q.total("x") == "sum(x)"
    assert q.total("x", ["a", "b"]) == "sum by (a, b) (x)"
    assert q.quantile(0.5, "x", ["a"]) == "histogram_quantile(0.5, sum by (le, a) (x)) >= 0"
