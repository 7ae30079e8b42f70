from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmphases.reports.wording import count, duration, percent, printable, rate, size, times


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (-1, "0 s"),
        (1e-9, "<0.001 ms"),
        (0.000_012_34, "0.0123 ms"),
        (0.001, "1.00 ms"),
        (0.0123, "12.3 ms"),
        (0.3, "300 ms"),
        (0.9994, "999 ms"),
        (0.9996, "1.00 s"),
        (1.9, "1.90 s"),
        (9.996, "10.0 s"),
        (68.0, "68.0 s"),
        (99.96, "100 s"),
        (119.4, "119 s"),
        (119.6, "2:00 min"),
        (269, "4:29 min"),
        (3599.4, "59:59 min"),
        (3599.6, "1:00:00 h"),
        (3725, "1:02:05 h"),
        (100 * 3600, "100:00:00 h"),
    ],
)
def test_a_duration_has_three_digits_or_minutes(seconds, text):
    assert duration(seconds * 1e9) == text


@given(st.integers(1000, 10**17))
def test_what_is_read_is_what_was_meant_to_half_a_percent(nanoseconds):
    text, unit = duration(nanoseconds).split(" ")
    parts = [float(part) for part in text.split(":")]
    shown = {"ms": 1e-3, "s": 1.0, "min": 1.0, "h": 1.0}[unit] * sum(
        part * 60**place for place, part in enumerate(reversed(parts))
    )
    assert shown == pytest.approx(nanoseconds / 1e9, rel=0.0051)


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0, "0 %"),
        (0.00001, "<0.1 %"),
        (0.00099, "<0.1 %"),
        (0.001, "0.1 %"),
        (0.004, "0.4 %"),
        (0.0099, "1.0 %"),
        (0.01, "1 %"),
        (0.973, "97 %"),
        (0.9951, "99.5 %"),
        (0.9989, "99.9 %"),
        (0.9991, ">99.9 %"),
        (0.99999, ">99.9 %"),
        (1, "100 %"),
    ],
)
def test_a_share_claims_neither_nothing_nor_all_wrongly(share, text):
    assert percent(share) == text


def test_a_rate_has_three_digits():
    assert rate(49.96) == "50.0 tokens/s"
    assert rate(0) == "0 tokens/s"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 B"),
        (1, "1.00 B"),
        (999, "999 B"),
        (1024, "1.00 KiB"),
        (143.2 * 2**20, "143 MiB"),
        (2**30 - 1, "1.00 GiB"),
        (5000 * 2**30, "5000 GiB"),
    ],
)
def test_sizes_have_three_digits(number, text):
    assert size(number) == text


@pytest.mark.parametrize(
    ("factor", "text"), [(0.5, "0.50"), (1.356, "1.36"), (12.27, "12.3"), (150.4, "150")]
)
def test_factors_have_three_digits(factor, text):
    assert times(factor) == text


def test_things_are_counted_in_words():
    assert count(0, "call") == "no calls"
    assert count(1, "call") == "1 call"
    assert count(1200, "retry", "retries") == "1,200 retries"


def test_a_name_out_of_a_file_cannot_command_the_terminal():
    assert printable("ä \x1b[2J\n名") == "ä \\x1b[2J\\n名"
