"""What is known of the time at which bytes arrived."""

from __future__ import annotations

from llmphases.capture.children.arrivals import TOLERANCE_NS, Arrivals

LATE = 10 * TOLERANCE_NS


def test_a_reader_that_waited_was_woken_by_the_arrival():
    assert Arrivals(0).read(LATE, waited=True) == LATE


def test_what_lay_there_may_have_come_at_any_time():
    assert Arrivals(0).read(LATE, waited=False) is None


def test_close_bounds_are_good_enough():
    arrivals = Arrivals(0)
    arrivals.seen_empty(LATE)
    assert arrivals.read(LATE + TOLERANCE_NS, waited=False) == LATE + TOLERANCE_NS
    assert arrivals.read(LATE + TOLERANCE_NS + 1, waited=False) is None


def test_the_rest_of_what_was_waited_for_came_after_its_first_byte():
    arrivals = Arrivals(0)
    arrivals.read(LATE, waited=True)
    assert arrivals.read(LATE + 1, waited=False) == LATE + 1


def test_bounds_never_go_back():
    arrivals = Arrivals(0)
    arrivals.seen_empty(LATE)
    arrivals.seen_empty(1)
    assert arrivals.read(LATE + 1, waited=False) == LATE + 1
