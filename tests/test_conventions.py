"""The names: unique, ours under our prefix, boundaries that rise."""

from __future__ import annotations

from itertools import pairwise

import pytest

from llmphases import conventions
from llmphases.conventions import OURS, Metric
from llmphases.phases import Cost, Phase

METRICS = [value for value in vars(conventions).values() if isinstance(value, Metric)]


def test_names_of_phases_and_costs_are_under_our_prefix_and_unique() -> None:
    names = [conventions.phase_duration(p) for p in Phase]
    names += [conventions.cost_duration(c) for c in Cost]
    assert len(set(names)) == len(names)
    assert all(name.startswith(OURS) for name in names)


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_metric_has_a_unit_and_a_meaning(metric: Metric) -> None:
    assert metric.unit
    assert metric.description
    assert metric.name.startswith((OURS, "gen_ai."))


@pytest.mark.parametrize("metric", [m for m in METRICS if m.boundaries], ids=lambda m: m.name)
def test_boundaries_rise(metric: Metric) -> None:
    assert metric.boundaries is not None
    assert all(a < b for a, b in pairwise(metric.boundaries))


def test_a_call_of_68_seconds_does_not_share_its_bucket_with_one_of_45() -> None:
    def bucket(seconds: float) -> int:
        return sum(seconds > bound for bound in conventions.SECONDS)

    assert bucket(68) != bucket(44.9)
    assert bucket(68) < len(conventions.SECONDS)


def test_names_of_others_are_ours_only_where_we_write_them() -> None:
    assert conventions.is_ours("llmphases.anything")
    assert conventions.is_ours(conventions.INPUT_TOKENS)
    assert not conventions.is_ours("gen_ai.conversation.id")
    assert not conventions.is_ours("error.message")
