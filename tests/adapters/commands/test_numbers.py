from __future__ import annotations

import pytest

from llmphases.adapters.commands.numbers import ns_of_ms, number, numbers_in

NONE = [None, True, "12", float("nan"), float("inf"), 2**63, -(2**63), [], {}]


@pytest.mark.parametrize("value", NONE)
def test_what_an_exporter_could_not_write_is_no_number(value):
    assert number(value) is None


def test_only_the_named_numbers_are_taken():
    assert numbers_in({"a": 1, "b": 2.5, "c": "3", "d": 4}, "a", "b", "c", "x") == {
        "a": 1,
        "b": 2.5,
    }


@pytest.mark.parametrize(
    ("value", "ns"),
    [(0, 0), (1, 1_000_000), (0.5, 500_000), (-1, None), (2**62, None), (1e300, None),
     *((value, None) for value in NONE)],
)  # fmt: skip
def test_milliseconds_become_whole_nanoseconds(value, ns):
    assert ns_of_ms(value) == ns
