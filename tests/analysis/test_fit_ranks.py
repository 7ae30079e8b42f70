from __future__ import annotations

from itertools import combinations, permutations

import pytest

from llmphases.analysis import fit_ranks
from llmphases.analysis.fit_ranks import rank_of_median, rank_of_slope


def left_out(ties, rank):
    """In what share of all orders fewer than `rank` pairs are inverted, or more than all but so
    many: by counting every one of them."""
    places = [group for group, tie in enumerate(ties) for _ in range(tie)]
    pairs = [(a, b) for a, b in combinations(range(len(places)), 2) if places[a] != places[b]]
    orders = list(permutations(range(len(places))))
    inverted = [sum(order[a] > order[b] for a, b in pairs) for order in orders]
    return sum(k < rank or k > len(pairs) - rank for k in inverted) / len(orders)


@pytest.mark.parametrize("ties", [[1] * 5, [1] * 6, [2, 1, 3], [3, 3], [2, 2, 1, 1], [4, 2]])
@pytest.mark.parametrize("miss", [0.025, 0.1, 0.3])
def test_the_rank_is_the_largest_that_misses_no_more_often_than_allowed(ties, miss):
    rank = rank_of_slope(ties, miss)
    assert left_out(ties, rank) <= miss
    assert left_out(ties, rank + 1) > miss


def test_points_that_cannot_tell_have_no_rank():
    assert rank_of_slope([6, 1], 0.025) == 0  # 2 of 7 orders are an end
    assert rank_of_slope([7], 0.025) == 0  # all of one size
    assert rank_of_slope([1] * 4, 0.025) == 0  # 2 of 24
    assert rank_of_slope([50], 0.025) == 0


@pytest.mark.parametrize("ties", [[1] * 40, [4] * 10, [20, 20], [30, 5, 5]])
def test_many_points_are_near_enough_to_what_is_exact(ties, monkeypatch):
    exact = rank_of_slope(ties, 0.025)
    monkeypatch.setattr(fit_ranks, "_EXACT_UP_TO", 0)
    assert rank_of_slope(ties, 0.025) == pytest.approx(exact, abs=2)


def test_the_median_of_few_values_is_between_all_of_them_or_nowhere():
    assert rank_of_median(6, 0.025) == 0  # 2 / 64 is more
    assert rank_of_median(7, 0.025) == 1  # 2 / 128 is not
    assert rank_of_median(60, 0.05) == 22  # as tables of the sign test have it
