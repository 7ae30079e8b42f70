"""The thread that looks at children now and then."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

from capture.children.real_children import obedient
from llmphases import clock
from llmphases.capture.children import sampler
from llmphases.capture.children.process_table import table_of_this_machine
from llmphases.capture.children.sampler import Sampler

pytestmark = pytest.mark.skipif(not hasattr(os, "wait4"), reason="no wait4")
PATIENCE_S = 60
MIB = 2**20


@pytest.fixture
def child():
    with obedient() as one:
        yield one


class Looking:
    """Tables for a sampler: each is one round of it."""

    def __init__(self):
        self.rounds = threading.Semaphore(0)

    def __call__(self):
        if threading.current_thread().name == "llmphases-sampler":
            self.rounds.release()
        return table_of_this_machine()

    def wait(self, rounds=1):
        """Until so many have begun from now on."""
        while self.rounds.acquire(blocking=False):
            pass
        for _ in range(rounds):
            assert self.rounds.acquire(timeout=PATIENCE_S)


def gone(some):
    """Wait for a sampler's thread to end."""
    thread = some._thread
    if thread is not None:
        thread.join(PATIENCE_S)
    return not some.is_running


def test_children_are_looked_at_without_being_asked(child):
    looking = Looking()
    some = Sampler(looking)
    watched = some.watch(child.pid, "python")
    child.do("x = bytearray(40 * 2**20)")
    looking.wait(2)
    child.do("del x")
    use = watched.reaped(child.end())
    assert use.memory_peak > 40 * MIB
    assert use.survivors == 0


def test_one_thread_serves_all_and_goes_with_the_last(child):
    some = Sampler()
    with obedient() as other:
        first = some.watch(child.pid)
        thread = some._thread
        second = some.watch(other.pid)
        assert some._thread is thread
        assert thread.daemon
        first.reaped(child.end())
        second.reaped(other.end())
    assert gone(some)
    assert not thread.is_alive()


def test_a_thread_comes_back_with_the_next_child(child):
    some = Sampler()
    with obedient() as other:
        some.watch(other.pid).reaped(other.end())
    assert gone(some)
    some.watch(child.pid)
    assert some.is_running
    child.end()
    assert gone(some)


def test_a_child_that_nobody_says_was_reaped_is_not_looked_at_for_ever(child):
    some = Sampler()
    watched = some.watch(child.pid)
    child.end()
    assert gone(some)
    assert watched.is_over


def test_a_zombie_needs_no_more_looks(child):
    some = Sampler()
    watched = some.watch(child.pid)
    child.process.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert gone(some)
    assert watched.reaped(child.wait()).cpu_ns > 0


def test_what_cannot_be_seen_needs_no_thread(child):
    some = Sampler(lambda: None)
    assert some.watch(child.pid).is_over
    assert not some.is_running


def test_where_no_thread_can_start_the_rest_is_known(child, monkeypatch):
    def start(thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    some = Sampler()
    watched = some.watch(child.pid)
    monkeypatch.undo()
    assert not some.is_running
    assert watched.reaped(child.end()).cpu_ns > 0


def test_an_interrupt_just_before_the_thread_starts_is_no_end_of_looking(child, monkeypatch):
    def interrupted(thread):
        raise KeyboardInterrupt

    looking = Looking()
    some = Sampler(looking)
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(threading.Thread, "start", interrupted)
        some.watch(child.pid)
    some.watch(child.pid)
    looking.wait()


def test_a_fault_of_a_round_ends_neither_thread_nor_program(child, caplog):
    class Broken(Looking):
        def __call__(self):
            table = super().__call__()
            if threading.current_thread().name == "llmphases-sampler":
                raise ZeroDivisionError
            return table

    looking = Broken()
    some = Sampler(looking)
    watched = some.watch(child.pid)
    looking.wait(2)
    assert watched.reaped(child.end()).cpu_ns > 0
    assert gone(some)
    assert caplog.text.count("a fault in") == 1


def test_the_pause_after_a_round_is_over_a_hundred_times_its_cost(child, monkeypatch):
    pauses, costs = [], iter([0, 1_000_000, 0, 50_000_000, 0, 2_000_000])
    enough = threading.Event()

    def sleep(seconds):
        pauses.append(seconds)
        if len(pauses) == 4:
            enough.set()
            child.end()

    monkeypatch.setattr(clock, "sleep", sleep)
    monkeypatch.setattr(clock, "thread_cpu_ns", lambda: next(costs, 0))
    some = Sampler()
    some.watch(child.pid)
    assert enough.wait(PATIENCE_S)
    assert gone(some)
    assert pauses == [0.25, 0.25, 6.25, 0.25]


# --- forks ---------------------------------------------------------------------------------


def forked(work):
    """The exit code of a fork that does `work`; 0 if it said True."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads
        pid = os.fork()
    if pid == 0:
        code = 99
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_a_forked_process_starts_anew(child):
    """Its parent's child is none of its own, and the thread has not come along."""
    watched = sampler.watch(child.pid)
    with sampler._sampler._lock:  # as if another thread were about to watch a child

        def work():
            was_reset = not sampler._sampler.is_running and not sampler._sampler._watched
            own = subprocess.Popen(["sleep", "60"])
            mine = sampler.watch(own.pid)
            has_thread = sampler._sampler.is_running
            own.kill()
            use = mine.reaped(os.wait4(own.pid, 0)[2])
            watched.reaped()  # as when a copied Popen finds that there is no such child
            return was_reset and has_thread and use.cpu_ns is not None

        assert forked(work) == 0
    assert watched.reaped(child.end()).cpu_ns > 0


# --- many ----------------------------------------------------------------------------------


class Unreliable:
    """A table that now and then says nothing, too little, or raises; the answers are real."""

    def __init__(self):
        self._table = table_of_this_machine()

    def process(self, pid):
        if random.random() < 0.1:
            raise OSError
        return None if random.random() < 0.1 else self._table.process(pid)

    def children(self, pid):
        if random.random() < 0.1:
            raise OSError
        return [] if random.random() < 0.1 else self._table.children(pid)


@pytest.mark.slow
@pytest.mark.parametrize("tables", [table_of_this_machine, Unreliable])
def test_hundreds_of_short_children_in_threads(tables):
    """RC-073: exit codes and exact CPU time are right in every run, and nothing raises."""
    some = Sampler(tables)

    def run(number):
        with subprocess.Popen(["sh", "-c", f"exit {number % 256}"]) as process:
            watched = some.watch(process.pid, "sh")
            _, status, rusage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            return watched.reaped(rusage, exit_code=process.returncode)

    with ThreadPoolExecutor(8) as pool:
        uses = list(pool.map(run, range(500)))
    assert [use.exit_code for use in uses] == [number % 256 for number in range(500)]
    assert all(use.cpu_ns is not None for use in uses)
    assert gone(some)


@pytest.mark.slow
def test_a_look_in_the_middle_of_many_deaths_finds_no_strangers():
    """Trees whose processes end while they are looked at, by real kernels."""
    some = Sampler()
    program = "import os\nfor _ in range(60):\n  os.fork() or os._exit(0)\n  os.wait()"

    def run(_):
        with subprocess.Popen([sys.executable, "-c", program]) as process:
            watched = some.watch(process.pid)
            for _ in range(20):
                watched.look()
            _, status, rusage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            use = watched.reaped(rusage)
            return process.returncode, use.survivors, watched.survivors()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(run, range(20))) == {(0, 0, ())}
    assert gone(some)
