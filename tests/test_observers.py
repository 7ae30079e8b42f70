"""Who hears of calls, and the one place that swallows errors."""

from __future__ import annotations

import inspect
import logging
import signal
import threading
from functools import partial

import pytest

from llmphases.observers import (
    Frame,
    Observer,
    Observers,
    OpenCall,
    OpenJob,
    OpenPhase,
    OpenSpan,
    PlainCarrier,
    complain_once,
    forget_complaints,
    guard,
    never_raises,
    note_once,
)
from llmphases.phases import Cost, Phase
from llmphases.recorder import CallRecorder
from llmphases.recorder.recorder import Description

EVENTS = {
    "job_started": (object(),),
    "job_ended": (object(),),
    "call_started": (object(),),
    "phase_started": (object(),),
    "phase_ended": (object(),),
    "phase_written": (object(),),
    "call_ended": (object(), object()),
}


class Keeping(Observer):
    def __init__(self):
        self.heard = []

    def __getattribute__(self, name):
        if name in EVENTS:
            return lambda *about: self.heard.append((name, *about))
        return super().__getattribute__(name)


def broken(event):
    """An observer that raises in one of its hooks."""

    def fail(self, *about):
        raise ValueError("broken")

    return type("Broken", (Observer,), {event: fail})()


@pytest.mark.parametrize("event", EVENTS)
def test_every_observer_hears_of_every_event(event):
    one, other = Keeping(), Keeping()
    observers = Observers([one])
    observers.add(other)
    getattr(observers, event)(*EVENTS[event])
    assert one.heard == other.heard == [(event, *EVENTS[event])]


@pytest.mark.parametrize("event", EVENTS)
def test_an_observer_that_raises_is_logged_once_and_hears_nothing_any_more(event, caplog):
    before, bad, after = Keeping(), broken(event), Keeping()
    observers = Observers([before, bad, after])
    for _ in range(3):
        getattr(observers, event)(*EVENTS[event])
    assert before.heard == after.heard == [(event, *EVENTS[event])] * 3
    assert list(observers) == [before, after]
    (said,) = caplog.records
    assert said.getMessage() == "llmphases: Broken failed and is switched off"
    assert said.exc_info[0] is ValueError


@pytest.mark.parametrize("event", EVENTS)
def test_an_observer_that_calls_the_programs_own_code_is_logged_once_and_hears_on(event, caplog):
    bad, after = broken(event), Keeping()
    type(bad).hears_on = True
    observers = Observers([bad, after])
    for _ in range(3):
        getattr(observers, event)(*EVENTS[event])
    assert list(observers) == [bad, after]
    assert after.heard == [(event, *EVENTS[event])] * 3
    (said,) = caplog.records
    assert "a fault below Broken" in said.getMessage()
    assert said.exc_info[0] is ValueError


@pytest.mark.parametrize("event", EVENTS)
def test_an_observer_does_nothing_by_default(event):
    assert getattr(Observer(), event)(*EVENTS[event]) is None


class Parts:
    """Functions of every number of parameters, all of which fail."""

    @never_raises
    def of_itself(self):
        """One."""
        raise ValueError

    @never_raises
    def of_more(self, one, *, two=2):
        """Three."""
        raise ValueError

    @never_raises
    def of_any(self, *all_of_it, **named):
        """Any."""
        raise ValueError

    @staticmethod
    @never_raises
    def of_none():
        """None."""
        raise ValueError

    @staticmethod
    @never_raises
    def of_what_may_be_left_out(one=1):
        """One or none."""
        raise ValueError

    def bound(self):
        """One, given already."""
        raise ValueError


def test_a_guard_takes_what_its_function_takes(caplog):
    parts = Parts()
    assert parts.of_itself() is None
    assert parts.of_more(1, two=3) is parts.of_more(one=1) is None
    assert parts.of_any() is parts.of_any(1, two=2) is None
    assert parts.of_none() is None
    assert parts.of_what_may_be_left_out() is parts.of_what_may_be_left_out(one=2) is None
    assert never_raises(parts.bound)() is None
    assert [record.exc_info[0] for record in caplog.records] == [ValueError] * 6
    assert inspect.signature(Parts.of_itself) == inspect.signature(Parts.bound)


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_is_meant_to_end_the_program_is_not_swallowed(error):
    class Interrupted(Observer):
        def job_ended(self, job):
            raise error

    observers = Observers([Interrupted()])
    with pytest.raises(error):
        observers.job_ended(object())
    assert len(list(observers)) == 1


def test_removing_an_unknown_observer_is_fine():
    observers = Observers()
    assert observers.remove(Observer()) is False
    observers.job_ended(object())


def test_an_observer_that_fails_in_many_threads_at_once_is_logged_once(caplog):
    gate, observers = threading.Barrier(8), Observers([broken("job_ended")])

    def tell():
        gate.wait()
        for _ in range(50):
            observers.job_ended(object())

    in_threads(8, tell)
    assert len(caplog.records) == 1
    assert list(observers) == []


def test_a_call_goes_on_without_the_observers_that_fail(caplog):
    kept = Keeping()
    observers = Observers([broken("phase_started"), kept, broken("call_ended")])
    call = CallRecorder(Description(name="call"), 0, offset_ns=0, observers=observers)
    call.started()
    call.close_block(call.open_block(Phase.TOOL, 1), 3)
    record = call.finish(4)
    assert record.exclusive_ns == {Phase.TOOL: 2}
    assert [name for name, *_ in kept.heard] == [
        "call_started", "phase_started", "phase_ended", "call_ended"
    ]  # fmt: skip
    assert len(caplog.records) == 2


# --- the guard ----------------------------------------------------------------------------------


def test_a_fault_of_ours_gives_nothing_and_is_logged_once(caplog):
    @never_raises
    def divide(a, *, by):
        """Divide."""
        return a / by

    assert divide(6, by=3) == 2
    assert [divide(6, by=0) for _ in range(3)] == [None] * 3
    assert (divide.__name__, divide.__doc__) == ("divide", "Divide.")
    (said,) = caplog.records
    assert "divide; the program goes on, this is logged once" in said.getMessage()
    assert said.exc_info[0] is ZeroDivisionError


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_never_raises_lets_through_what_is_no_fault(error):
    @never_raises
    def stop():
        raise error

    with pytest.raises(error):
        stop()


class TheirTimeout(Exception):
    """What a program raises in a handler to break off whatever runs."""


def _raise(number, frame):
    raise TheirTimeout


class Handlers:
    def method(self, number, frame):
        _raise(number, frame)

    __call__ = method


@pytest.fixture(
    params=[_raise, Handlers().method, Handlers(), partial(_raise)],
    ids=["function", "method", "object", "partial"],
)
def alarmed(request):
    """Raises as if a signal had come just there."""
    before = signal.signal(signal.SIGUSR1, request.param)
    yield lambda *about: signal.raise_signal(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


def test_what_a_signal_handler_of_the_program_raises_is_no_fault_of_ours(alarmed, caplog):
    observers = Observers([type("Quick", (Observer,), {"call_started": alarmed})()])
    rule = guard(lambda text: alarmed() if text == "now" else text, "nothing", "is_token")
    for interrupted in (
        never_raises(alarmed),
        never_raises(never_raises(alarmed)),
        lambda: observers.call_started(object()),
        lambda: rule("now"),
    ):
        with pytest.raises(TheirTimeout):
            interrupted()
    assert len(list(observers)) == 1, "an observer is off that has done nothing"
    assert rule("a") == "a"
    assert caplog.records == []


def test_a_function_of_the_user_that_fails_is_not_asked_again(caplog):
    asked = []

    def is_token(chunk):
        asked.append(chunk)
        return chunk["text"]

    rule = guard(is_token, "nothing", "is_token")
    assert rule({"text": "a"}) == "a"
    assert [rule({}), rule({"text": "b"})] == ["nothing", "nothing"]
    assert len(asked) == 2
    (said,) = caplog.records
    assert "is_token failed and is not asked again" in said.getMessage()


def test_each_complaint_is_made_once_until_all_are_forgotten(caplog):
    for what in ("this", "that", "this"):
        complain_once(what)
    assert len(caplog.records) == 2
    forget_complaints()
    complain_once("this")
    assert len(caplog.records) == 3


def test_a_note_is_made_once_by_those_who_want_to_hear_it(caplog):
    caplog.set_level(logging.INFO, "llmphases")
    note_once("this")
    assert caplog.records == []
    caplog.set_level(logging.DEBUG, "llmphases")
    for what in ("this", "that", "this"):
        note_once(what)
    assert [record.getMessage() for record in caplog.records] == [
        "llmphases: this", "llmphases: that",
    ]  # fmt: skip
    assert {record.levelno for record in caplog.records} == {logging.DEBUG}


def test_a_complaint_is_made_once_by_many_threads(caplog):
    gate = threading.Barrier(8)

    def complain():
        gate.wait()
        complain_once("the same")

    in_threads(8, complain)
    assert len(caplog.records) == 1


def test_logging_that_fails_itself_does_not_reach_the_program():
    """A filter of the program's own may raise, or the stack may be too deep to log at all."""

    def refuse(record):
        raise RuntimeError("no")

    @never_raises
    def fail():
        raise ValueError

    logger = logging.getLogger("llmphases")
    logger.addFilter(refuse)
    try:
        assert fail() is None
    finally:
        logger.removeFilter(refuse)


# --- open things --------------------------------------------------------------------------------


def test_a_span_is_drawn_from_its_start_on_the_wall_clock_in_whole_microseconds():
    span = OpenSpan(1_999, 5_000_000)
    assert (span.drawn_start_us, span.drawn_end_us) == (5_001, None)
    assert span.wall(2_500) == 5_002_500


def test_a_span_without_children_has_nothing_inside():
    span = OpenSpan(0, 0)
    assert span.last_inside_us < span.drawn_start_us
    span.lane.finish(span.lane.begin(3_000), 9_000)
    assert span.last_inside_us == 8
    assert span.lane is span.lane


def test_a_job_counts_how_often_all_its_workers_had_to_go():
    job = OpenJob("boxes", 4, 0, 0)
    job.chunks = 9
    assert job.waves == 3
    assert OpenJob("boxes", None, 0, 0).waves is None


def test_a_phase_is_named_and_paid_as_what_it_is():
    phase = OpenPhase(Phase.TOOL, 0, None, offset_ns=0)
    assert (phase.name, phase.cost) == ("tool", Cost.TOOL)
    assert type(phase.name) is str


# --- the carrier without OpenTelemetry ----------------------------------------------------------


def test_the_plain_carrier_carries_the_frame_itself():
    carrier = PlainCarrier()
    assert carrier.frame_of(carrier.variable.get()) is None
    frame = Frame(call=OpenCall("call", 0, 0, 0))
    token = carrier.variable.set(carrier.enter(None, frame))
    assert carrier.frame_of(carrier.variable.get()) is frame
    carrier.variable.reset(token)
    assert carrier.inject(frame) == {}
    assert carrier.extract({"traceparent": "00"}) is None


def in_threads(count, work):
    threads = [threading.Thread(target=work, daemon=True) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
