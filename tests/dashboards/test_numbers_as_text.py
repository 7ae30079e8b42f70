from __future__ import annotations

import pytest

from dashboards.numbers_as_text import as_text


@pytest.mark.parametrize(
    ("value", "unit", "decimals", "expected"),
    [
        (0, "s", None, "0 s"),
        (0.0123, "s", None, "12.3 ms"),
        (1, "s", None, "1 s"),
        (68.4, "s", None, "1.14 min"),
        (7200, "s", None, "2 h"),
        (0.97, "percentunit", None, "97 %"),
        (1, "percentunit", None, "100 %"),
        (16 * 2**20, "bytes", None, "16 MiB"),
        (0, "bytes", None, "0 B"),
        (35.789, "none", 1, "35.8"),
        (1234.0, "short", None, "1234"),
        (100 / 9, "short", None, "11.1"),
    ],
)
def test_three_digits_and_a_unit(value, unit, decimals, expected):
    assert as_text(value, unit, decimals) == expected
