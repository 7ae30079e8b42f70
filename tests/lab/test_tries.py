"""Tries that end with the first success, and tests that can still fail."""

from __future__ import annotations

import pytest

from lab import tries as lab_tries
from lab.tries import tries


@pytest.fixture(autouse=True)
def _without_pauses(monkeypatch):
    monkeypatch.setattr(lab_tries, "_PAUSE_S", 0)


def test_the_first_success_is_the_end():
    seen = []
    for attempt in tries(5):
        seen.append(attempt.number)
        with attempt:
            assert attempt.number == 2
    assert seen == [0, 1, 2]


def test_what_never_succeeds_fails_with_its_own_words():
    seen = []
    with pytest.raises(AssertionError, match="never"):
        for attempt in tries(3):
            seen.append(attempt.number)
            with attempt:
                raise AssertionError("never")
    assert seen == [0, 1, 2]


def test_what_is_asserted_outside_the_attempt_fails_at_once():
    seen = []
    with pytest.raises(AssertionError, match="always"):
        for attempt in tries(3):
            seen.append(attempt.number)
            assert attempt.number, "always"
            with attempt:
                pass
    assert seen == [0]


def test_other_errors_are_not_tried_again():
    with pytest.raises(ZeroDivisionError):
        for attempt in tries(3):
            with attempt:
                raise ZeroDivisionError


def test_a_try_without_an_attempt_is_a_mistake_of_the_test():
    with pytest.raises(AssertionError, match="has to make its attempt"):
        for _ in tries(3):
            pass


def test_each_try_may_take_longer():
    times = []
    for attempt in tries(3):
        times.append(attempt.longer(10))
        with attempt:
            assert attempt.number == 2
    assert times == sorted(times)
    assert times[0] == 10
    assert times[2] > 20
