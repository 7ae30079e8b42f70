"""What has to be there before the first call comes then, once."""

from __future__ import annotations

import threading
import time

from llmphases.capture import current
from llmphases.capture.late import before_the_first_call
from llmphases.testing import recorded_calls


def test_it_is_done_when_calls_begin_to_be_recorded_and_not_again():
    done = []
    before_the_first_call(lambda: done.append("one"))
    before_the_first_call(lambda: done.append("two"))
    assert done == []
    for _ in range(2):
        current.wired()
    assert done == ["one", "two"]


def test_a_wiring_that_is_given_is_as_good():
    done = []
    before_the_first_call(lambda: done.append("one"))
    with recorded_calls():
        assert done == ["one"]


def test_what_is_taken_back_is_not_done():
    done = []
    take_back = before_the_first_call(lambda: done.append("one"))
    take_back()
    current.wired()
    take_back()  # too late is no fault
    assert done == []


def test_one_that_fails_does_not_keep_the_others_from_being_done(caplog):
    done = []
    before_the_first_call(lambda: 1 / 0)
    before_the_first_call(lambda: done.append("two"))
    current.wired()
    assert done == ["two"]
    assert "ZeroDivisionError" in caplog.text


def test_no_wiring_is_none_to_wait_for():
    done = []
    take_back = before_the_first_call(lambda: done.append("one"))
    current.wire(None)
    assert done == []
    take_back()


def test_another_thread_has_no_wiring_before_it_is_done():
    """Else its first call would begin without the hooks that the first call waits for."""
    is_doing, may_go_on, done, seen = threading.Event(), threading.Event(), [], []

    def slow():
        current.wired()  # who does it has the wiring, for whatever it needs of it
        is_doing.set()
        may_go_on.wait(10)
        done.append("slow")

    def use():
        current.wired()
        seen.append(list(done))

    before_the_first_call(slow)
    first, second = threading.Thread(target=use), threading.Thread(target=use)
    first.start()
    assert is_doing.wait(10)
    assert current.is_wired()
    second.start()
    time.sleep(0.05)  # for one that would not wait to be seen
    assert seen == []
    may_go_on.set()
    first.join()
    second.join()
    assert seen == [["slow"], ["slow"]]
