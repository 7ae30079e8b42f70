"""How far from either end of an ordered list an interval may begin, whatever the noise is like."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import comb, floor, sqrt
from statistics import NormalDist

_EXACT_UP_TO = 40
"""Points; for more, the counts are near enough to a normal distribution."""


def rank_of_slope(ties: Sequence[int], miss: float) -> int:
    """The rank, from 1 at either end, of the pairwise slopes between which the true one lies.

    `ties` are the numbers of points that share an abscissa; pairs among them have no slope. The
    true slope is outside in at most the share `miss` of cases, for noise of any distribution that
    does not depend on the abscissa (Sen's interval: how many of the slopes are too small is then
    distributed as the inversions of a random order). 0 if the points cannot tell so much.
    """
    if sum(ties) > _EXACT_UP_TO:
        return _normal_rank(ties, miss)
    return _exact_rank(_inversions(ties), miss)


def rank_of_median(number: int, miss: float) -> int:
    """The rank, from 1 at either end, of so many values between which their true median lies.

    It is outside in at most the share `miss` of cases (sign test). 0 if the values are too few.
    """
    return _exact_rank([comb(number, below) for below in range(number + 1)], miss)


def _exact_rank(ways: Sequence[int], miss: float) -> int:
    """The ranks that may be left out at each end; `ways[k]`: in how many k lie below the truth."""
    allowed = miss / 2 * sum(ways)
    return sum(1 for reached in accumulate(ways) if reached <= allowed)


def _inversions(ties: Sequence[int]) -> list[int]:
    """In how many orders of points so tied there are 0, 1, 2 ... inversions.

    The coefficients of the Gaussian multinomial: the product of 1 - q^k over all points, by the
    same product over each tie.
    """
    ways = [1] + [0] * _pairs(ties)
    for k in range(1, sum(ties) + 1):
        for at in range(len(ways) - 1, k - 1, -1):
            ways[at] -= ways[at - k]
    for tie in ties:
        for k in range(1, tie + 1):
            for at in range(k, len(ways)):
                ways[at] += ways[at - k]
    return ways


def _normal_rank(ties: Sequence[int], miss: float) -> int:
    def spread(n: int) -> int:
        return n * (n - 1) * (2 * n + 5)

    variance = (spread(sum(ties)) - sum(map(spread, ties))) / 72
    reach = NormalDist().inv_cdf(1 - miss / 2) * sqrt(variance)
    return max(0, floor(_pairs(ties) / 2 + 0.5 - reach))


def _pairs(ties: Sequence[int]) -> int:
    return comb(sum(ties), 2) - sum(comb(tie, 2) for tie in ties)
