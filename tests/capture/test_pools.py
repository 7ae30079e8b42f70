"""The executor behind a job, and waiting for what it has not done yet."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from llmphases import llm_job
from llmphases.capture.pools import Pool, results


class Slow(ThreadPoolExecutor):
    """Nothing begins before `go`."""

    def __init__(self):
        self.go = threading.Event()
        super().__init__(1, initializer=self.go.wait, initargs=(60,))


def test_threads_are_started_with_the_first_piece_of_work_only():
    pool = Pool(None, workers=2, name="boxes")
    assert pool.is_idle
    names = {pool.submit(lambda: threading.current_thread().name, (), {}).result()}
    assert not pool.is_idle
    assert names == {"boxes_0"}
    pool.settle(cancel=False)
    assert pool.is_idle
    assert not [one for one in threading.enumerate() if one.name.startswith("boxes_")]


def test_an_executor_that_was_given_is_not_shut_down():
    with ThreadPoolExecutor(1) as executor:
        pool = Pool(executor, workers=1, name="boxes")
        pool.submit(int, ("1",), {})
        pool.settle(cancel=False)
        assert pool.is_idle
        assert executor.submit(int, "2").result() == 2


def test_settling_waits_for_work_that_work_has_handed_over():
    pool = Pool(None, workers=1, name="boxes")
    done = []

    def work(depth):
        if depth:
            pool.submit(work, (depth - 1,), {})
        done.append(depth)

    pool.submit(work, (3,), {})
    pool.settle(cancel=False)
    assert done == [3, 2, 1, 0]


def test_settling_with_cancel_drops_what_has_not_begun():
    with Slow() as executor:
        pool = Pool(executor, workers=1, name="boxes")
        futures = [pool.submit(int, ("1",), {}) for _ in range(5)]
        pool.settle(cancel=True)
        executor.go.set()
    assert all(future.cancelled() for future in futures)


def test_a_future_cancelled_by_the_program_is_waited_for_no_more():
    with Slow() as executor:
        pool = Pool(executor, workers=1, name="boxes")
        pool.submit(int, ("1",), {}).cancel()
        pool.settle(cancel=False)
        executor.go.set()


forks = pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
"""From 3.12 on, Python warns of forks beside threads; such forks are what these are about."""


def in_a_fork(work: Callable[[], bool]) -> bool:
    """What a forked child says; one that hangs is ended by the system, and says nothing."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if work() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@forks
def test_a_forked_child_does_not_wait_for_the_threads_of_its_parent():
    """They do not exist there."""
    go_on = threading.Event()
    pool = Pool(None, workers=1, name="boxes")
    waiting = [pool.submit(go_on.wait, (60,), {}) for _ in range(3)]

    def leave() -> bool:
        waiting[-1].cancel()
        pool.settle(cancel=False)
        return pool.is_idle

    assert in_a_fork(leave)
    go_on.set()
    pool.settle(cancel=False)
    assert [future.result() for future in waiting] == [True] * 3


@forks
def test_a_forked_child_may_hand_over_work_of_its_own():
    go_on = threading.Event()
    pool = Pool(None, workers=1, name="boxes")
    pool.submit(go_on.wait, (60,), {})

    def work() -> bool:
        done = pool.submit(int, ("1",), {})
        pool.settle(cancel=False)
        return done.result() == 1

    assert in_a_fork(work)
    go_on.set()
    pool.settle(cancel=False)


@forks
def test_a_fork_inside_a_job_leaves_its_block():
    go_on = threading.Event()

    def work() -> bool:
        job.__exit__(None, None, None)
        return True

    with llm_job("boxes", workers=1, progress=True) as job:
        done = [job.submit(go_on.wait, 60) for _ in range(3)]
        with job._progress._lock:
            assert in_a_fork(work)
        go_on.set()
    assert all(future.result() for future in done)


def futures_of(*values):
    futures = [Future() for _ in values]
    for future, value in zip(futures, values, strict=True):
        if isinstance(value, Exception):
            future.set_exception(value)
        elif value is not None:
            future.set_result(value)
    return futures


def test_results_are_those_of_the_futures_in_order():
    assert list(results(futures_of(1, 2, 3))) == [1, 2, 3]


def test_after_an_exception_the_rest_is_cancelled():
    futures = futures_of(1, LookupError(), None, None)
    iterator = results(list(futures))
    assert next(iterator) == 1
    with pytest.raises(LookupError):
        next(iterator)
    assert [future.cancelled() for future in futures] == [False, False, True, True]


def test_closing_early_cancels_the_rest():
    futures = futures_of(1, None, None)
    iterator = results(list(futures))
    next(iterator)
    iterator.close()
    assert [future.cancelled() for future in futures] == [False, True, True]


def test_results_that_were_handed_out_are_not_kept():
    """A result may be large, and a job long."""
    futures = futures_of(1, 2, 3)
    iterator = results(futures)
    next(iterator)
    assert len(futures) == 2
