"""Seeing children being reaped."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from capture.children.tools_of_ours import tool
from lab.tries import tries
from llmphases.capture.children.reaping import Reaping


class Told:
    """What is told of a child."""

    def __init__(self):
        self.running = 0
        self.status = self.rusage = self.waited = None

    def seen_running(self):
        self.running += 1

    def reaped(self, status, rusage, *, waited):
        self.status, self.rusage, self.waited = status, rusage, waited


@pytest.fixture
def reaping():
    made = Reaping()
    made.install()
    yield made
    made.uninstall()


@pytest.fixture
def started(reaping):
    """Starts a tool that is tracked."""

    def start(program):
        popen = subprocess.Popen(tool(program), stdin=subprocess.PIPE)
        told = Told()
        reaping.track(popen.pid, told)
        return popen, told

    return start


def test_a_wait_that_waits_is_told_so_with_what_was_used(started):
    for attempt in tries():
        popen, told = started("time.sleep(0.1)")
        assert popen.wait() == 0
        assert told.status == 0
        assert told.rusage.ru_utime + told.rusage.ru_stime > 0
        popen.stdin.close()
        with attempt:
            assert told.waited


def test_a_wait_for_what_is_gone_has_not_waited(started):
    popen, told = started("sys.exit(3)")
    os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)
    assert popen.wait() == 3
    assert not told.waited
    popen.stdin.close()


def test_poll_tells_that_it_runs_and_then_that_it_is_gone(started):
    popen, told = started("sys.stdin.read()")
    assert popen.poll() is None
    assert told.running == 1
    popen.stdin.close()
    os.waitid(os.P_PID, popen.pid, os.WEXITED | os.WNOWAIT)
    assert popen.poll() == 0
    assert told.status == 0


@pytest.mark.parametrize("wait", [lambda pid: os.waitpid(pid, 0), lambda pid: os.waitpid(-1, 0)])
def test_the_program_may_wait_for_it_by_itself(started, wait):
    popen, told = started("sys.exit(2)")
    pid, status = wait(popen.pid)
    assert (pid, os.waitstatus_to_exitcode(status)) == (popen.pid, 2)
    assert told.status == status
    popen.returncode = 2
    popen.stdin.close()


def test_one_that_is_forgotten_in_another_thread_just_then_is_reaped_all_the_same(
    started, reaping, monkeypatch
):
    popen, told = started("sys.exit(2)")
    asks = os.WIFCONTINUED

    def forgotten(status):  # between finding out whom to tell and telling
        reaping.forget(popen.pid, told)
        return asks(status)

    monkeypatch.setattr(os, "WIFCONTINUED", forgotten)
    assert popen.wait() == 2
    popen.stdin.close()


def test_a_stop_is_no_end(started):
    popen, told = started("sys.stdin.read()")
    popen.send_signal(signal.SIGSTOP)
    pid, status = os.waitpid(popen.pid, os.WUNTRACED)
    assert (pid, os.WIFSTOPPED(status), told.status) == (popen.pid, True, None)
    popen.kill()
    popen.wait()
    assert os.WTERMSIG(told.status) == signal.SIGKILL
    popen.stdin.close()


def test_errors_are_those_of_waitpid(started):
    with pytest.raises(ChildProcessError):
        os.waitpid(os.getpid(), 0)
    popen, _ = started("")
    with pytest.raises(TypeError):
        os.waitpid(popen.pid)
    with pytest.raises(TypeError):
        os.waitpid(str(popen.pid), 0)
    popen.communicate()


def test_a_child_that_nobody_tracks_is_waited_for_as_ever(reaping):
    popen = subprocess.Popen(tool("sys.exit(4)"))
    assert popen.wait() == 4


def test_what_is_forgotten_is_not_told(started, reaping):
    popen, told = started("")
    reaping.forget(popen.pid, told)
    popen.communicate()
    assert told.status is None


def test_uninstalled_everything_is_as_it_was():
    before = os.waitpid
    copies = _copies()
    made = Reaping()
    made.install()
    assert os.waitpid is not before
    made.uninstall()
    assert os.waitpid is before
    assert _copies() == copies


def test_what_somebody_else_put_in_our_place_stays_there(monkeypatch):
    made = Reaping()
    made.install()
    ours = os.waitpid
    theirs = lambda pid, options: ours(pid, options)
    monkeypatch.setattr(os, "waitpid", theirs)
    made.uninstall()
    assert os.waitpid is theirs
    popen = subprocess.Popen(tool("sys.exit(5)"))
    assert popen.wait() == 5
    monkeypatch.undo()
    os.waitpid = made._waitpid


def _copies():
    """What `subprocess` keeps of `os.waitpid` for itself."""
    kept = getattr(subprocess, "_del_safe", None)
    return kept.waitpid if kept is not None else subprocess.Popen._internal_poll.__defaults__
