"""SIGTERM: handled only where it is free to be, and never lost."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from llmphases.otel.sigterm import Sigterm


@pytest.fixture
def sigterm() -> Iterator[Sigterm]:
    one = Sigterm(lambda: None, 0.1)
    yield one
    one.forget()


def test_a_handler_of_the_program_stays(sigterm: Sigterm):
    """RC-083"""
    theirs = signal.signal(signal.SIGTERM, lambda *_: None)
    handler = signal.getsignal(signal.SIGTERM)
    try:
        assert not sigterm.watch()
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, theirs)


def test_a_handler_set_after_ours_is_not_taken_away(sigterm: Sigterm):
    assert sigterm.watch()
    handler = lambda *_: None
    signal.signal(signal.SIGTERM, handler)
    try:
        sigterm.forget()
        assert signal.getsignal(signal.SIGTERM) is handler
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def test_somebody_elses_wakeup_descriptor_stays(sigterm: Sigterm):
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    before = signal.set_wakeup_fd(writing)
    try:
        sigterm.watch()
        sigterm.insist()
        assert signal.set_wakeup_fd(-1) == writing
    finally:
        signal.set_wakeup_fd(before)
        os.close(reading)
        os.close(writing)


def test_a_signal_that_a_sleeping_worker_would_miss_reaches_it():
    """The handler runs although the first signal came when nobody looked."""
    child = os.fork()
    if child == 0:
        one = Sigterm(lambda: None, 0.1)
        one.watch()
        one.insist()
        # As when the signal comes between the interpreter's last look and a wait that nothing
        # ends: it is taken by another thread, and the main thread is not woken.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(
            target=lambda: (
                signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM}),
                os.kill(os.getpid(), signal.SIGTERM),
            )
        ).start()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
        os.read(os.pipe()[0], 1)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM


def test_a_signal_while_the_process_leaves_anyway_lets_it_leave_and_counts_afterwards():
    """The handler would wait for what it has interrupted itself."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        one = Sigterm(lambda: os._exit(1), 60)
        one.watch()
        with one.held_back():
            os.kill(os.getpid(), signal.SIGTERM)
            os.write(writing, b"left")
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
    assert os.read(reading, 10) == b"left"
    os.close(reading)
    os.close(writing)
