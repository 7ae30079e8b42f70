"""The ways out of a process; what happens there is in test_pipeline.py, with real processes."""

from __future__ import annotations

import multiprocessing.util
import os
import signal
import threading

import pytest

from llmphases.otel.leaving import Doors


class _Leaver:
    def __init__(self) -> None:
        self.told: list[bool] = []
        self.forks = 0

    def leave(self, *, at_exit: bool) -> None:
        self.told.append(at_exit)

    def flush(self, timeout_s: float) -> bool:
        return True

    def after_fork(self) -> None:
        self.forks += 1


def test_a_fork_is_noticed_in_the_child_only():
    leaver = _Leaver()
    doors = Doors(leaver, 0.1)
    doors.watch(sigterm=False)
    try:
        child = os.fork()
        if child == 0:
            os._exit(leaver.forks)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
        assert leaver.forks == 0
    finally:
        doors.forget()


def test_a_fork_leaves_the_signal_mask_as_it_was():
    doors = Doors(_Leaver(), 0.1)
    doors.watch(sigterm=True)
    try:
        child = os.fork()
        if child == 0:
            blocked = signal.pthread_sigmask(signal.SIG_BLOCK, ())
            os._exit(signal.SIGTERM in blocked)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert signal.SIGTERM not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    finally:
        doors.forget()


def test_who_is_forgotten_is_told_nothing_any_more():
    leaver = _Leaver()
    doors = Doors(leaver, 0.1)
    doors.watch(sigterm=True)
    doors.forget()
    doors._leave_at_once()
    assert leaver.told == []
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_only_the_main_thread_watches_sigterm():
    doors = Doors(_Leaver(), 0.1)
    thread = threading.Thread(target=doors.watch, kwargs={"sigterm": True})
    thread.start()
    thread.join()
    assert not doors.sigterm.is_watched
    doors.forget()


@pytest.mark.slow
def test_a_worker_tells_of_its_end():
    reading, writing = os.pipe()

    class Reporting(_Leaver):
        def leave(self, *, at_exit: bool) -> None:
            os.write(writing, b"left")

    doors = Doors(Reporting(), 0.1)
    doors.watch(sigterm=False)
    try:
        assert multiprocessing.util is not None
        worker = multiprocessing.get_context("fork").Process(target=len, args=("",))
        worker.start()
        worker.join()
    finally:
        doors.forget()
    os.close(writing)
    assert os.read(reading, 100).startswith(b"left"), "more than one way may tell"
    os.close(reading)
