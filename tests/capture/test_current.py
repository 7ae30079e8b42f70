"""The call of a context, and the slot that says how calls are recorded."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from contextlib import ExitStack

import pytest
from opentelemetry import trace

from capture.wirings import exported, recorded
from llmphases import (
    Ended,
    clock,
    current_call,
    llm_call,
    llm_job,
    prompt_build,
    retrieval,
    traced_llm_call,
)
from llmphases.capture import current
from llmphases.observers import Observer, Observers, PlainCarrier
from llmphases.testing import CollectingObserver
from llmphases.wiring import wiring_with


def test_the_wiring_in_force_is_put_back():
    before = current.wire(None)
    current.wire(before)
    with recorded(), exported():
        pass
    assert current.wire(before) is before


def test_of_many_first_users_one_makes_the_wiring(monkeypatch):
    made = []
    all_there = threading.Barrier(8)

    def load():
        made.append(recorded_wiring())
        return made[-1]

    def use():
        all_there.wait()
        users.append(current.wired())

    users = []
    monkeypatch.setattr(current._slot, "load", load)
    before = current.wire(None)
    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    current.wire(before)
    assert len(made) == 1
    assert users == made * 8


def recorded_wiring():
    """Takes long enough to make that other threads come in between."""
    clock.sleep(0.01)
    return wiring_with(Observers(), PlainCarrier())


def test_threads_and_tasks_are_told_apart():
    here = current.context_key()
    there = []
    thread = threading.Thread(target=lambda: there.append(current.context_key()))
    thread.start()
    thread.join()
    assert here == current.context_key() != there[0]

    async def keys():
        async def key():
            return current.context_key()

        return await key(), await asyncio.create_task(key()), current.context_key()

    own, other, again = asyncio.run(keys())
    assert own == again
    assert own != other


def test_what_is_open_when_the_program_goes_is_ended(calls):
    with llm_call("open"):
        current.close_open_calls()
        assert not current_call()
    assert [call.ended for call in calls] == [Ended.EXIT]


class Hearing(CollectingObserver):
    """Keeps the names of all that it hears."""

    def __init__(self):
        super().__init__()
        self.told = []

    def __getattribute__(self, name):
        if name.endswith(("started", "ended", "written")):
            self.told.append(name)
        return super().__getattribute__(name)


def in_a_fork(act):
    """What `act` gives in a forked child, as JSON."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.write(write, json.dumps(act()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        given = answer.read()
    os.waitpid(child, 0)
    return json.loads(given)


needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
forks = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")


@pytest.fixture
def told():
    """The names of all that observers hear."""
    observer = Hearing()
    before = current.wire(wiring_with(Observers([observer]), PlainCarrier()))
    yield observer.told
    current.wire(before)


@needs_fork
@forks
def test_a_forked_child_tells_nobody_of_what_its_parent_had_open(told):
    with retrieval() as lone, ExitStack() as inside:
        job = inside.enter_context(llm_job("job"))
        call = inside.enter_context(llm_call("parents"))
        request = inside.enter_context(call.request())
        inner = inside.enter_context(llm_call("inner"))
        block = inside.enter_context(prompt_build())
        assert all((lone, job, request, block))

        def leave_all():
            told.clear()
            inner.first_token()
            is_open = [bool(call), bool(inner)]
            inside.close()
            lone.close()
            current.close_open_calls()
            return is_open, told

        assert in_a_fork(leave_all) == [[False, False], []]
        told.clear()
        assert call
    assert sorted(told) == [
        "call_ended", "call_ended", "job_ended", "phase_ended", "phase_ended", "phase_ended",
    ]  # fmt: skip


@needs_fork
@forks
def test_a_stream_that_was_open_at_a_fork_is_the_parents(told):
    @traced_llm_call
    def tokens():
        yield from "abc"

    stream = tokens()
    assert next(stream) == "a"

    def read_on():
        told.clear()
        return list(stream), told

    assert in_a_fork(read_on) == [["b", "c"], []]
    assert list(stream) == ["b", "c"]
    assert "call_ended" in told


@needs_fork
@forks
def test_a_call_begun_in_a_forked_child_is_traced_below_the_parents_span(exported):
    with llm_call("parents"):
        parents = trace.get_current_span().get_span_context().span_id

        def call_there():
            with llm_call("childs") as call:
                call.request_sent()
            span = exported.one("childs")
            return span.parent.span_id, call.record.nested, len(exported.calls)

        assert in_a_fork(call_there) == [parents, True, 1]
    assert [call.name for call in exported.calls] == ["parents"]


@needs_fork
@forks
def test_a_lock_that_another_thread_held_at_the_fork_does_not_stop_the_child(told):
    with llm_call("parents") as call:
        held, release = threading.Event(), threading.Event()

        def hold():
            with call._recorder._lock:
                held.set()
                release.wait()

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait()

        def go_on():
            call.request_sent()
            with llm_call("childs") as inner:
                return bool(inner)

        try:
            assert in_a_fork(go_on) is True
        finally:
            release.set()
            thread.join()


class Failing(Observer):
    """Fails at everything."""

    def __getattribute__(self, name):
        if name.endswith(("started", "ended", "written")):
            raise RuntimeError("observer")
        return super().__getattribute__(name)


class FailingCarrier(PlainCarrier):
    def enter(self, base, frame):
        raise RuntimeError("carrier")


BROKEN = {
    "observer": lambda: wiring_with(Observers([Failing()]), PlainCarrier()),
    "carrier": lambda: wiring_with(Observers([Observer()]), FailingCarrier()),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_fault_of_ours_never_reaches_the_program(caplog, broken):
    """One log record for each kind, and the program's results are what they are."""
    from llmphases import retrieval, step

    before = current.wire(BROKEN[broken]())
    try:

        @traced_llm_call
        def ask():
            with retrieval(), step("x"):
                return "answer"

        @traced_llm_call
        def stream():
            got = yield "a"
            yield got

        @traced_llm_call
        async def coroutine():
            return "awaited"

        for _ in range(3):
            assert ask() == "answer"
            words = stream()
            assert next(words) == "a"
            assert words.send("sent") == "sent"
            assert list(words) == []
            assert asyncio.run(coroutine()) == "awaited"
            with llm_call("call") as call, call.request():
                call.first_token()
                call.usage(input_tokens=1)
    finally:
        current.wire(before)
    messages = [record.getMessage() for record in caplog.records]
    assert 1 <= len(messages) <= 4
    assert len(set(messages)) == len(messages)
