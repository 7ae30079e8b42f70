"""Sentences of the documentation that no worked timeline shows."""

from __future__ import annotations

import gc
import threading

import pytest

from lab.tries import tries
from llmphases.calls import Ended
from llmphases.observers import Observer, Observers
from llmphases.phases import Phase
from llmphases.recorder import CallRecorder
from llmphases.recorder.children import ChildRecorder
from llmphases.recorder.recorder import Description
from recorder.hand_driven import (
    START_NS,
    WALL_OFFSET_NS,
    HandDriven,
    Listener,
    assert_exact,
    no_fault,
    recorder,
)

S = 1_000_000_000
MS = 1_000_000


def at(seconds):
    return START_NS + round(seconds * S)


def ms(call):
    return {phase.value: ns // MS for phase, ns in call.exclusive_ns.items() if ns} | (
        {"unattributed": call.unattributed_ns // MS} if call.unattributed_ns else {}
    )


@pytest.fixture
def heard():
    with no_fault():
        yield Listener()


@pytest.fixture
def call(heard):
    return recorder(heard, at(0))


# --- child processes ----------------------------------------------------------------------------


def test_a_child_that_dies_in_the_middle_of_an_answer_generated_until_then(call):
    child = ChildRecorder(call, at(0))
    child.ready(at(1), "init_event")
    child.first_token(at(2))
    child.exited(at(5))
    assert ms(call.finish(at(9))) == {
        "process_startup": 1000,
        "time_to_first_token": 1000,
        "generation": 3000,
        "unattributed": 4000,
    }


def test_a_later_request_of_a_child_begins_with_its_own_first_event(call):
    child = ChildRecorder(call, at(0))
    child.ready(at(1), "init_event")
    child.first_token(at(2))
    child.last_token(at(3))
    child.event(at(4))
    child.first_token(at(4.5))
    child.last_token(at(5))
    child.exited(at(5))
    record = call.finish(at(5))
    assert ms(record) == {
        "process_startup": 1000,
        "time_to_first_token": 1500,
        "generation": 1500,
        "unattributed": 1000,
    }
    assert record.requests == 2


def test_the_first_byte_says_that_a_child_is_ready_if_nothing_else_does(call):
    child = ChildRecorder(call, at(0))
    child.first_token(at(2))
    child.last_token(at(3))
    child.exited(at(3.5))
    record = call.finish(at(3.5))
    assert ms(record) == {"process_startup": 2000, "generation": 1000, "process_shutdown": 500}
    assert record.first_token_rule == "first_byte"


def test_text_of_a_child_that_was_seen_to_be_ready_has_a_time_to_first_token(call):
    child = ChildRecorder(call, at(0))
    child.ready(at(1), "tap")
    child.text(at(3), at(6))
    child.exited(at(6.5))
    record = call.finish(at(6.5))
    assert ms(record) == {
        "process_startup": 1000,
        "time_to_first_token": 2000,
        "generation": 3000,
        "process_shutdown": 500,
    }
    assert record.first_token_rule == "tap"


def test_a_burst_of_a_child_that_was_seen_to_be_ready_is_inference_since_then(call):
    child = ChildRecorder(call, at(0))
    child.ready(at(1), "tap")
    child.text(at(6), at(6.01))
    child.exited(at(6.51))
    assert ms(call.finish(at(6.51))) == {
        "process_startup": 1000,
        "inference": 5010,
        "process_shutdown": 500,
    }


# --- streams ------------------------------------------------------------------------------------


def test_a_stream_whose_request_is_sent_with_its_first_step_tells_of_that_request(call):
    stream = HandDriven(call, at(0), handed_over=True)
    stream.asked(at(1))
    call.request_sent(at(1.5))
    stream.chunk(at(2))
    stream.asked(at(2))
    stream.chunk(at(3))
    stream.end(at(3))
    record = call.finish(at(3))
    assert record.requests == 1
    assert ms(record) == {
        "transmission": 1000,
        "time_to_first_token": 500,
        "generation": 1000,
        "unattributed": 500,
    }


def test_a_stream_that_breaks_before_any_chunk_fails_the_request_sent_since(call):
    stream = HandDriven(call, at(0))
    call.request_sent(at(1))
    stream.end(at(2), failed=True)
    assert ms(call.finish(at(3))) == {"retry": 1000, "unattributed": 2000}


def test_a_wait_before_the_first_token_is_drawn_inside_the_time_to_it(call, heard):
    """Also of a request that nobody announced."""
    own = HandDriven(call, at(0), own=True)
    own.chunk(at(1), kind=0)
    own.asked(at(1.5))
    own.chunk(at(2))
    own.end(at(2))
    call.finish(at(2))
    stall, wait = (next(p for p in heard.written if p.is_stall is of) for of in (True, False))
    assert wait.phase is Phase.TIME_TO_FIRST_TOKEN
    assert stall.parent is wait
    assert (stall.start_ns, stall.end_ns) == (at(1), at(1.5))


def test_what_holds_a_function_and_the_stream_that_it_reads_is_shown_and_counted_once(call, heard):
    own = HandDriven(call, at(0), own=True)
    call.request_sent(at(0))
    read = HandDriven(call, at(0))
    for second in (1, 2):
        read.chunk(at(second))
        own.chunk(at(second))
        own.asked(at(second + 0.5))
        read.asked(at(second + 0.5))
    read.end(at(3))
    own.end(at(3))
    record = call.finish(at(3))
    assert ms(record) == {
        "time_to_first_token": 1000,
        "generation": 500,
        "transmission": 1000,
        "unattributed": 500,
    }
    assert [s.start_ns // MS for s in record.stalls] == [1000, 2000]
    assert record.chunks == 2


def test_items_stamp_no_first_token_once_the_function_has_asked_itself(call):
    own = HandDriven(call, at(0), own=True)
    call.request_sent(at(0))
    own.chunk(at(1))
    call.first_token(at(2))
    call.last_token(at(3))
    own.end(at(3))
    assert call.finish(at(3)).first_token_ns == 2 * S


def test_what_an_inner_call_asked_comes_out_of_the_outer_one_when_that_hands_it_on(call, heard):
    """RC-023"""
    own = HandDriven(call, at(0), own=True)
    inner = recorder(heard, at(0), call)
    inner.request_sent(at(0))
    read = HandDriven(inner, at(0))
    read.chunk(at(1))
    own.chunk(at(2))
    own.asked(at(2))
    read.end(at(3))
    inner.finish(at(3))
    own.end(at(3))
    record = call.finish(at(3))
    assert (heard.calls[0].first_token_ns, record.first_token_ns) == (S, 2 * S)
    assert record.requests == 0
    assert record.exclusive_ns == heard.calls[0].exclusive_ns


def test_a_function_whose_own_output_is_marked_complete_gives_no_more_tokens(call):
    own = HandDriven(call, at(0), own=True)
    own.chunk(at(1))
    own.asked(at(1))
    own.chunk(at(2))
    own.asked(at(2))
    call.last_token(at(2))
    own.chunk(at(3))
    own.end(at(4))
    record = call.finish(at(4))
    assert record.requests == 1
    assert ms(record) == {"time_to_first_token": 1000, "generation": 1000, "transmission": 1000,
                          "unattributed": 1000}  # fmt: skip


def test_a_mark_after_the_first_item_begins_a_request(call):
    own = HandDriven(call, at(0), own=True)
    own.chunk(at(1))
    own.asked(at(1))
    call.first_token(at(1))
    call.last_token(at(3))
    own.end(at(3))
    record = call.finish(at(3))
    assert record.requests == 2
    assert ms(record) == {"time_to_first_token": 1000, "generation": 2000}


# --- calls inside calls -------------------------------------------------------------------------


def test_a_call_that_outlives_the_one_around_it_goes_on_in_the_next(call, heard):
    middle = recorder(heard, at(1), call)
    inner = recorder(heard, at(2), middle)
    inner.request_sent(at(2))
    inner.first_token(at(3))
    middle.finish(at(4))
    inner.last_token(at(5))
    inner.finish(at(5))
    record = call.finish(at(6))
    assert ms(heard.records[middle]) == {
        "time_to_first_token": 1000,
        "generation": 1000,
        "unattributed": 1000,
    }
    assert ms(record) == {
        "time_to_first_token": 1000,
        "generation": 2000,
        "unattributed": 3000,
    }
    assert record.outside_inner_ns == {}


def test_an_outer_call_that_ends_first_knows_all_that_is_open_inside(call, heard):
    """Whatever the depth; and what a consumer held is not generation there either."""
    middle = recorder(heard, at(0), call)
    inner = recorder(heard, at(0), middle)
    inner.request_sent(at(0))
    stream = HandDriven(inner, at(0))
    stream.chunk(at(1))
    record = call.finish(at(3))
    assert ms(record) == {"time_to_first_token": 1000, "transmission": 2000}
    stream.end(at(4))
    inner.finish(at(4))
    middle.finish(at(4))
    assert_exact(heard.records[inner])
    assert_exact(heard.records[middle])


def test_blocks_own_the_calls_inside_them_however_deep(call, heard):
    block = call.open_block(Phase.RETRIEVAL, at(0))
    middle = recorder(heard, at(0), call, inside_block=True)
    inner = recorder(heard, at(0), middle)
    middle.finish(at(1))
    inner.request_sent(at(1))
    inner.last_token(at(2))
    inner.finish(at(2))
    call.close_block(block, at(3))
    record = call.finish(at(4))
    assert ms(record) == {"retrieval": 3000, "unattributed": 1000}
    assert record.requests == 0


# --- what a request waits for -------------------------------------------------------------------


def details(record):
    return [(d.name, d.cost.value, d.start_ns / S, d.end_ns / S) for d in record.details]


def test_what_a_request_waits_for_is_made_of_details_and_ends_with_the_first_token(call):
    request = call.request_sent(at(1))
    call.waits_for(request, at(1), "connect")
    call.waits_for(request, at(2), "send")
    call.waits_for(request, at(3), None)
    call.waits_for(request, at(4), "read_first")
    call.first_token(at(5))
    assert call.waits_for(request, at(6), "too late") is None
    record = call.finish(at(7))
    assert details(record) == [
        ("connect", "fixed", 1, 2), ("send", "fixed", 2, 3), ("read_first", "fixed", 4, 5),
    ]  # fmt: skip
    assert ms(record) == {"time_to_first_token": 4000, "generation": 2000, "unattributed": 1000}


def test_the_details_of_a_wait_are_what_it_turns_out_to_be(call, heard):
    request = call.request_sent(at(0))
    call.waits_for(request, at(0), "connect")
    call.request_ended(request, at(1), failed=True, error_type="503")
    again = call.request_sent(at(3))
    call.waits_for(again, at(3), "send")
    call.waits_for(again, at(4), "wait_headers", "ReadTimeout")
    call.request_ended(again, at(5))
    record = call.finish(at(6))
    assert details(record) == [
        ("connect", "fixed", 0, 1), ("send", "unsplit", 3, 4), ("wait_headers", "unsplit", 4, 5),
    ]  # fmt: skip
    told = [(p.name, p.phase.value, p.request, p.error_type) for p in heard.phases]
    assert told == [
        ("connect", "retry", 0, None),
        ("retry", "retry", 0, "503"),
        ("send", "inference", 1, "ReadTimeout"),
        ("wait_headers", "inference", 1, None),
        ("inference", "inference", 1, None),
    ]


def test_a_stream_that_is_read_already_goes_on_with_the_request_that_is_sent_again(call):
    first = call.request_sent(at(0))
    stream = HandDriven(call, at(0))
    call.request_ended(first, at(1), failed=True)
    call.request_sent(at(2))
    stream.chunk(at(3))
    stream.asked(at(3))
    stream.chunk(at(4))
    stream.end(at(4))
    record = call.finish(at(4))
    assert (record.requests, record.retries) == (2, 1)
    assert ms(record) == {"retry": 2000, "time_to_first_token": 1000, "generation": 1000}


# --- threads, locks and the collector -----------------------------------------------------------


def test_a_call_that_is_over_leaves_nothing_to_the_collector(heard):
    """Blocks, steps, requests, streams and inner calls: all of it is freed at once."""
    for attempt in tries(3):
        gc.collect()
        gc.disable()
        try:
            call = recorder(Observer(), at(0))
            block = call.open_block(Phase.RETRIEVAL, at(1), key="a")
            call.close_block(call.open_step("rerank", at(1), parent=block), at(2))
            call.close_block(block, at(2))
            inner = recorder(Observer(), at(3), call)
            inner.waits_for(inner.request_sent(at(3), "a"), at(3), "connect")
            stream = HandDriven(inner, at(3), "a")
            stream.chunk(at(4))
            stream.end(at(5))
            inner.finish(at(5))
            call.finish(at(6))
            del call, block, inner, stream
            with attempt:  # another thread may have left something
                assert gc.collect() == 0
        finally:
            gc.enable()


def test_many_threads_that_mark_one_call_leave_exact_sums(heard):
    call, gate = recorder(heard, at(0)), threading.Barrier(8)
    ticks = iter(range(10**9))

    def now():
        return START_NS + next(ticks) * 100

    def work(name):
        gate.wait()
        for number in range(60):
            block = call.open_block(Phase.TOOL, now(), key=name)
            call.request_sent(now(), name)
            inner = recorder(heard, now(), call)
            stream = HandDriven(inner, now(), name)
            stream.chunk(now())
            stream.chunk(now())
            call.first_token(now(), name)
            stream.end(now())
            if block is not None:
                call.close_block(block, now())
            inner.finish(now())
            call.last_token(now(), name)
            if number == 50 and name == 0:
                call.finish(now())

    in_threads(8, work)
    record = call.finish(now())
    assert len(heard.calls) == 1 + 8 * 60
    for one in heard.calls:
        assert_exact(one)
    assert record.requests > 50  # those of the one that ended it; how far the others came is chance
    began = [id(span) for what, span in heard.order if what == "began"]
    assert sorted(began) == sorted(id(span) for what, span in heard.order if what == "ended")


def test_an_inner_and_an_outer_call_may_finish_at_the_same_time(heard):
    for _ in range(100):
        outer = recorder(heard, at(0))
        inner = recorder(heard, at(0), outer)
        gate = threading.Barrier(2)

        def finish(number, both=(outer, inner), gate=gate):
            gate.wait()
            both[number].finish(at(1))

        in_threads(2, finish)
    assert len(heard.calls) == 200


class Dropped:
    """A stream that only the collector can find; what it was reading ends there."""

    def __init__(self, stream, inner):
        self.itself = self
        self.stream, self.inner = stream, inner

    def __del__(self):
        self.stream.end(at(3))
        self.inner.finish(at(3), Ended.DROPPED)


class Locking(Observer):
    """As a metric does: takes a lock that is not reentrant, and makes garbage in it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.ended = []

    def phase_started(self, phase):
        with self.lock:
            gc.collect()

    def call_ended(self, call, record):
        with self.lock:
            self.ended.append(record)


def test_what_the_collector_finds_never_waits_for_a_lock_that_its_thread_holds():
    observer = Locking()

    def program(_):
        outer = CallRecorder(
            Description(name="outer"), at(0), offset_ns=WALL_OFFSET_NS,
            observers=Observers([observer]),
        )  # fmt: skip
        inner = CallRecorder(
            Description(name="inner"), at(1), offset_ns=WALL_OFFSET_NS,
            observers=Observers([observer]), outer=outer, parent=outer,
        )  # fmt: skip
        stream = HandDriven(inner, at(1))
        stream.chunk(at(1.5))
        Dropped(stream, inner)
        del stream, inner
        outer.close_block(outer.open_block(Phase.TOOL, at(3)), at(4))
        assert observer.ended == []
        outer.finish(at(5))

    in_threads(1, program)
    dropped, outer = observer.ended
    assert (dropped.name, dropped.duration_ns, dropped.ended) == ("inner", 2 * S, Ended.DROPPED)
    assert ms(dropped) == {"time_to_first_token": 500, "transmission": 1500}
    assert ms(outer) == {
        "time_to_first_token": 500,
        "transmission": 1500,
        "tool": 1000,
        "unattributed": 2000,
    }


def in_threads(count, work):
    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a thread waits for ever"
