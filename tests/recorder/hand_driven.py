"""A call, its streams and its children, moved by hand on a clock of whole nanoseconds."""

from __future__ import annotations

import logging
from contextlib import contextmanager

from llmphases.observers import Observers, forget_complaints, logger
from llmphases.phases import Cost
from llmphases.recorder import CallRecorder
from llmphases.recorder.recorder import Description
from llmphases.recorder.streams import ANSWER, FIRST_CHUNK, NEW_REQUEST, Reading
from llmphases.testing import CollectingObserver

START_NS = 1_000_000_000_000
WALL_OFFSET_NS = 7 * 10**15 + 123_456_789


class Listener(CollectingObserver):
    """Keeps everything, and in which order it heard of beginnings and ends."""

    def __init__(self):
        super().__init__()
        self.order = []
        """(what, span): `began` or `ended`, for phases and calls."""
        self.written = []
        self.records = {}

    def call_started(self, call):
        super().call_started(call)
        self.order.append(("began", call))

    def phase_started(self, phase):
        self.order.append(("began", phase))

    def phase_ended(self, phase):
        super().phase_ended(phase)
        self.order.append(("ended", phase))

    def phase_written(self, phase):
        super().phase_written(phase)
        self.written.append(phase)
        self.order.append(("written", phase))

    def call_ended(self, call, record):
        super().call_ended(call, record)
        self.order.append(("ended", call))
        self.records[call] = record


def recorder(listener, at_ns, outer=None, *, parent=None, inside_block=False):
    """A call that has begun."""
    made = CallRecorder(
        Description(name="call"),
        at_ns,
        offset_ns=WALL_OFFSET_NS,
        observers=Observers([listener]),
        outer=outer,
        parent=parent or outer,
        inside_block=inside_block,
    )
    made.started()
    return made


class HandDriven:
    """A stream as its driver steps it: running inside `next`, or held by its consumer.

    Its sums are those that the drivers of `capture` keep.
    """

    def __init__(self, call, at_ns, key=None, *, own=False, handed_over=False):
        self.call, self.key = call, key
        self.held_since = at_ns if handed_over else None
        self.stall = self.at_last = self.count = 0
        self.last = None
        self.is_over = False
        self.track = call.stream_opened(at_ns, key, own=own)
        if self.track is not None:
            self.track.read = self.reading

    def reading(self):
        return Reading(self.stall, self.held_since, self.last, self.at_last, self.count)

    def asked(self, at_ns):
        """The consumer asks for the next chunk."""
        if self.held_since is None:
            return
        held = max(0, at_ns - self.held_since)
        self.stall += held
        if held >= self.track.limit_ns:
            self.track.keep_stall(self.held_since, held)
        self.held_since = None

    def chunk(self, at_ns, kind=ANSWER):
        """A chunk arrives: from now on the consumer holds it."""
        self.asked(at_ns)
        self.count += 1
        if kind:
            self.last, self.at_last = at_ns, self.stall
        if self.track.awaiting & ((kind | NEW_REQUEST if kind else 0) | FIRST_CHUNK):
            self.call.chunk_seen(self.track, at_ns, kind, self.key)
            self.track.awaiting &= ~NEW_REQUEST if kind else -1
        self.held_since = at_ns

    def end(self, at_ns, *, failed=False, reported=None):
        """Exhausted, closed or broken."""
        self.asked(at_ns)
        self.is_over = True
        self.call.stream_ended(
            self.track, at_ns, self.reading(), failed=failed, key=self.key, reported=reported
        )


@contextmanager
def no_fault():
    """Nothing inside may be swallowed and logged: a fault of ours is to be seen."""

    class Loud(logging.Handler):
        def emit(self, record):
            faults.append(record)

    faults, loud = [], Loud()
    logger.addHandler(loud)
    forget_complaints()
    try:
        yield
    finally:
        logger.removeHandler(loud)
    for fault in faults:
        raise AssertionError(fault.getMessage()) from (fault.exc_info or (None, None))[1]


def assert_exact(call):
    """What holds for every record, whatever has happened."""
    assert sum(call.exclusive_ns.values()) + call.unattributed_ns == call.duration_ns
    assert sum(call.cost_ns(cost) for cost in Cost) == call.duration_ns
    times = [*call.exclusive_ns.values(), *call.outside_inner_ns.values(), call.unattributed_ns]
    assert min(times) >= 0
    for phase, ns in call.outside_inner_ns.items():
        assert ns <= call.exclusive_ns[phase]
    pieces = [*call.stretches, *call.stalls, *call.details]
    assert all(0 <= p.start_ns <= p.end_ns <= call.duration_ns for p in pieces)
    for many in (call.stretches, call.stalls):
        assert [p.start_ns for p in many] == sorted(p.start_ns for p in many)
    assert {s.phase for s in call.stretches} <= set(call.exclusive_ns)
    for ns in (call.first_token_ns, call.first_answer_ns, call.first_reasoning_ns):
        assert ns is None or 0 <= ns <= call.duration_ns
    share = call.fixed_share
    assert share is None or 0 <= share <= 1
