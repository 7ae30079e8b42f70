"""The call of a context, and the slot that says how calls are recorded."""

from __future__ import annotations

import asyncio
import os
import threading

import pytest

from capture.wirings import exported, recorded
from llmphases import Ended, current_call, llm_call, traced_llm_call
from llmphases.capture import current
from llmphases.observers import Observer, Observers, PlainCarrier
from llmphases.wiring import wiring_with


def test_the_wiring_in_force_is_put_back():
    before = current.wire(None)
    current.wire(before)
    with recorded(), exported():
        pass
    assert current.wire(before) is before


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


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (None, (Ended.EXHAUSTED, None)),
        (ValueError(), (Ended.ERROR, "ValueError")),
        (GeneratorExit(), (Ended.CLOSED, None)),
        (SystemExit(1), (Ended.EXIT, None)),
        (KeyboardInterrupt(), (Ended.INTERRUPTED, "KeyboardInterrupt")),
        (asyncio.CancelledError(), (Ended.CANCELLED, "CancelledError")),
    ],
)
def test_how_a_body_ended_is_told_by_what_left_it(error, expected):
    assert current.outcome(error) == expected


def test_what_is_open_when_the_program_goes_is_ended(calls):
    with llm_call("open"):
        current.close_open_calls()
        assert not current_call()
    assert [call.ended for call in calls] == [Ended.EXIT]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_does_not_end_its_parents_calls(calls):
    with llm_call("parents"):
        child = os.fork()
        if child == 0:
            current.close_open_calls()
            os._exit(len(calls))
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


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
    "carrier": lambda: wiring_with(Observers(), FailingCarrier()),
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
