"""The recorder against a count of every single instant, for programs whose meaning is known."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings

from recorder.hand_driven import Listener, assert_exact, no_fault
from recorder.written_programs import all_bodies, owner_of_each_instant, programs, run

MANY = settings(
    max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def check(program):
    heard = Listener()
    with no_fault():
        run(program, heard)
    for body in all_bodies(program[0]):
        record = heard.records[body.call]
        assert_exact(record)
        exclusive, outside, unattributed = owner_of_each_instant(body)
        assert dict(record.exclusive_ns) == exclusive
        assert record.unattributed_ns == unattributed
        assert dict(record.outside_inner_ns) == outside
    return heard


@MANY
@given(program=programs())
def test_every_instant_belongs_to_the_phase_that_opened_last(program):
    """One task: blocks in blocks, requests, failures, a stream, and calls inside calls."""
    check(program)


@MANY
@given(program=programs(most_tasks=3))
def test_tasks_at_the_same_time_share_no_instant(program):
    """Parallel tasks of one call, each with its own requests and blocks; one of them streams."""
    check(program)
