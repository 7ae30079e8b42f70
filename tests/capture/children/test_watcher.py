"""The thread that sees exits and first bytes."""

from __future__ import annotations

import os
import resource
import subprocess
import threading
import time
from pathlib import Path

import pytest

from capture.children.tools_of_ours import tool
from llmphases.capture.children.watcher import LEAST_DESCRIPTOR, Watcher
from llmphases.clock import SystemClock


@pytest.fixture
def watcher():
    return Watcher(SystemClock.now)


@pytest.fixture
def spawn():
    """Starts a small tool, and sees it off."""
    started = []

    def start(program):
        popen = subprocess.Popen(tool(program), stdout=subprocess.PIPE, stdin=subprocess.PIPE)
        started.append(popen)
        return popen

    yield start
    for popen in started:
        popen.kill()
        popen.communicate()


def until(condition):
    """Waits for what another thread does."""
    for _ in range(12_000):
        if condition():
            return True
        time.sleep(0.005)
    return False


def descriptors():
    """Those that are open in this process."""
    found = {int(path.name) for path in Path("/proc/self/fd").iterdir()}
    return {fd for fd in found if Path(f"/proc/self/fd/{fd}").exists()}  # not of the listing


def test_the_first_byte_and_the_exit_are_seen_without_anybody_reading_or_waiting(watcher, spawn):
    popen = spawn("out('x')")
    watch = watcher.watch(popen.pid, popen.stdout.fileno())
    assert until(lambda: watch.exit_ns)
    assert watch.output_ns <= watch.exit_ns
    assert popen.poll() == 0
    assert popen.stdout.read() == b"x"


def test_only_the_first_byte_is_seen(watcher, spawn):
    popen = spawn("out('x'); sys.stdin.read(1); out('y'); sys.stdin.read()")
    watch = watcher.watch(popen.pid, popen.stdout.fileno())
    assert until(lambda: watch.output_ns)
    first_ns = watch.output_ns
    popen.stdin.write(b"1")
    popen.stdin.flush()
    assert os.read(popen.stdout.fileno(), 1) == b"x"
    assert os.read(popen.stdout.fileno(), 1) == b"y"
    assert watch.output_ns == first_ns


def test_an_output_that_is_read_is_watched_no_more(watcher, spawn):
    popen = spawn("sys.stdin.read(1); out('x')")
    watch = watcher.watch(popen.pid, popen.stdout.fileno())
    watcher.forget_output(watch)
    popen.stdin.write(b"1")
    popen.stdin.close()
    popen.stdin = None
    assert until(lambda: watch.exit_ns)
    assert watch.output_ns is None


def test_the_end_of_a_silent_output_is_no_byte(watcher, spawn):
    popen = spawn("")
    watch = watcher.watch(popen.pid, popen.stdout.fileno())
    assert until(lambda: watch.exit_ns)
    assert watch.output_ns is None


def test_the_thread_goes_with_the_last_child_and_comes_back(watcher, spawn):
    for _ in range(2):
        popen = spawn("sys.stdin.read(1)")
        watch = watcher.watch(popen.pid)
        assert watcher.is_running
        popen.stdin.close()
        popen.stdin = None
        assert until(lambda watch=watch: watch.exit_ns and not watcher.is_running)
    assert until(lambda: "llmphases-watcher" not in {t.name for t in threading.enumerate()})


def test_an_interrupt_just_before_its_thread_starts_is_no_end_of_watching(
    watcher, spawn, monkeypatch
):
    def interrupted(thread):
        raise KeyboardInterrupt

    popen = spawn("")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(threading.Thread, "start", interrupted)
        watcher.watch(popen.pid)
    watch = watcher.watch(popen.pid)
    assert until(lambda: watch.exit_ns)
    assert until(lambda: not watcher.is_running), "the first one's exit is seen as well"


def test_descriptors_of_ours_are_high_and_closed_in_the_end(watcher, spawn):
    popen = spawn("sys.stdin.read(1)")
    before = descriptors()
    watch = watcher.watch(popen.pid)
    assert watch.exit_fd >= LEAST_DESCRIPTOR
    # Whatever another thread has opened just now is closed again soon; ours stay.
    assert until(lambda: min(descriptors() - before) >= LEAST_DESCRIPTOR)
    fd = watch.exit_fd
    popen.kill()
    assert until(lambda: watch.exit_ns)
    assert until(lambda: fd not in descriptors())


def test_without_room_for_high_descriptors_nothing_is_watched(watcher, spawn):
    popen = spawn("")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (LEAST_DESCRIPTOR, limits[1]))
    try:
        assert watcher.watch(popen.pid) is None
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_a_child_that_is_reaped_already_is_not_watched(watcher, spawn):
    popen = spawn("")
    popen.communicate()
    assert watcher.watch(popen.pid) is None


def test_after_a_reset_it_works_anew_and_closes_nothing_of_others(watcher, spawn):
    first = spawn("sys.stdin.read(1)")
    old = watcher.watch(first.pid)
    watcher.reset()
    second = spawn("out('x')")
    watch = watcher.watch(second.pid, second.stdout.fileno())
    assert until(lambda: watch.exit_ns)
    assert old.exit_ns is None


def test_closing_all_descriptors_ends_it_quietly(tmp_path):
    program = """
import os, subprocess, sys, threading, time
from llmphases.capture.children.watcher import Watcher
from llmphases.clock import SystemClock
child = subprocess.Popen(["sleep", "60"])
watcher = Watcher(SystemClock.now)
watcher.watch(child.pid)
os.closerange(3, 4096)
child.kill(); child.wait()
other = subprocess.Popen(["true"])
watch = watcher.watch(other.pid)
other.wait()
print("fine")
"""
    done = subprocess.run(
        [*tool("")[:1], "-c", program], capture_output=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"fine\n", b"")
