"""What real children used, looked at by hand."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from capture.children.real_children import kill, obedient
from llmphases.calls import ProcessUse
from llmphases.capture.children.process_table import ProcFolder, PsutilTable, table_of_this_machine
from llmphases.capture.children.watched import Watched

pytestmark = pytest.mark.skipif(not hasattr(os, "wait4"), reason="no wait4")
MIB = 2**20
S = 1_000_000_000
TABLES = pytest.mark.parametrize("tables", [ProcFolder, PsutilTable])


@pytest.fixture
def child():
    with obedient() as one:
        yield one


def watched(child, tables=table_of_this_machine):
    return Watched(child.pid, "python", tables)


def test_what_the_system_says_of_a_child_alone_is_all(child):
    watch = watched(child)
    child.do("burn(0.05)")
    rusage = child.end()
    use = watch.reaped(rusage, exit_code=0, wall_ns=S)
    assert use.cpu_ns == round((rusage.ru_utime + rusage.ru_stime) * 1e9) > 0.05 * S
    assert (use.executable, use.pid, use.exit_code) == ("python", child.pid, 0)
    assert use.cpu_share == use.cpu_ns / S


@TABLES
def test_memory_of_the_whole_tree_is_added_up(child, tables):
    watch = watched(child, tables)
    child.do("r, w = os.pipe()")
    grandchild = child.fork("bytearray(60 * 2**20), os.write(w, b'x'), time.sleep(60)")
    child.do("os.read(r, 1); mine = bytearray(80 * 2**20)")
    watch.look()
    child.do("del mine")
    kill(grandchild)
    child.do("os.wait()")
    watch.look()
    peak = watch.reaped(child.end()).memory_peak
    # A fork shares the interpreter with its parent, so less than both of them count.
    assert 130 * MIB < peak < 200 * MIB if tables is PsutilTable else 80 * MIB < peak < 160 * MIB


def test_the_peak_of_a_child_never_looked_at_is_known_where_it_is_above_ours(child):
    """RC-073: a child that nobody could look at in time."""
    watch = watched(child)
    import resource

    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    child.do(f"x = bytearray({own + 50 * MIB})")
    assert watch.reaped(child.end()).memory_peak >= own + 50 * MIB


def test_a_peak_that_may_be_ours_is_not_the_childs():
    """`ru_maxrss` begins at the peak of the parent: `true` would take as much as we do."""
    child = subprocess.Popen(["true"])
    watch = Watched(child.pid, "true", table_of_this_machine)
    _, _, rusage = os.wait4(child.pid, 0)
    child.returncode = 0
    use = watch.reaped(rusage, exit_code=0)
    assert use.memory_peak is None
    assert use.survivors is None
    assert use.cpu_ns is not None


@TABLES
def test_a_grandchild_that_outlives_its_parents_is_a_survivor(child, tables):
    """RC-067: a double fork."""
    watch = watched(child, tables)
    child.do("r, w = os.pipe()")
    inner = "os.fork() or [burn(0.1), os.write(w, b'%d' % os.getpid()), time.sleep(60)]"
    middle = child.fork(f"[{inner}, time.sleep(60)]")
    orphan = int(child.do("say(os.read(r, 20).decode())")[0])
    watch.look()
    kill(middle)
    child.do("os.wait()")
    watch.look()
    rusage = child.end()
    use = watch.reaped(rusage)
    try:
        assert use.survivors == 1
        assert watch.survivors() == (orphan,)
        exact_ns = (rusage.ru_utime + rusage.ru_stime) * 1e9
        assert use.cpu_ns >= exact_ns + 0.08 * S  # in ticks of 10 ms, user and system apart
    finally:
        kill(orphan)


def test_a_survivor_may_ignore_sigterm(child):
    """RC-067."""
    watch = watched(child)
    child.do("r, w = os.pipe()")
    stubborn = child.fork(
        "signal.signal(signal.SIGTERM, signal.SIG_IGN), os.write(w, b'x'), time.sleep(60)"
    )
    child.do("os.read(r, 1)")
    watch.look()
    os.kill(stubborn, 15)
    assert watch.reaped(child.end()).survivors == 1
    assert watch.survivors() == (stubborn,)
    kill(stubborn)


def test_who_has_ended_meanwhile_is_no_survivor_any_more(child):
    watch = watched(child)
    child.do("r, w = os.pipe()")
    # It ends when the last writer has: that is the child.
    grandchild = child.fork("os.close(w), os.read(r, 1)")
    watch.look()
    child.do("os.close(w)")
    child.do(f"os.waitpid({grandchild}, 0)")
    assert watch.reaped(child.end()).survivors == 0


def test_grandchildren_that_nobody_waits_for_count(child):
    """With SIGCHLD ignored, the system drops them, and their time with them."""
    watch = watched(child)
    child.do("signal.signal(signal.SIGCHLD, signal.SIG_IGN)")
    child.do("r, w = os.pipe(); a, b = os.pipe()")
    child.fork("burn(0.5), os.write(w, b'x'), os.read(a, 1)")
    child.do("os.read(r, 1)")
    watch.look()
    child.do("os.write(b, b'x')")
    rusage = child.end()
    use = watch.reaped(rusage)
    assert rusage.ru_utime + rusage.ru_stime < 0.5
    assert use.cpu_ns > 0.45 * S


def test_without_a_rusage_a_look_at_the_zombie_tells(child):
    watch = watched(child)
    child.do("burn(0.1)")
    child.process.stdin.close()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    watch.look()
    assert watch.is_over
    child.wait()
    assert watch.reaped().cpu_ns >= 0.08 * S


def test_without_a_rusage_few_looks_tell_nothing(child):
    watch = watched(child)
    child.do("pass")  # until then it may still be a copy of this process
    watch.look()
    child.end()
    use = watch.reaped()
    assert use.cpu_ns is None
    assert use.memory_peak > 0


def test_where_nothing_can_be_seen_the_rest_is_known(child):
    """RC-073: neither /proc nor psutil."""
    watch = watched(child, lambda: None)
    assert watch.is_over
    watch.look()
    use = watch.reaped(child.end(), exit_code=0, wall_ns=S)
    assert use == ProcessUse(
        executable="python", pid=child.pid, exit_code=0, wall_ns=S, cpu_ns=use.cpu_ns
    )
    assert use.cpu_ns > 0
    assert watch.survivors() == ()


class Stubborn:
    """A table that gives no answer when it should not."""

    def __init__(self, answers):
        self._answers = answers
        self._table = table_of_this_machine()

    def process(self, pid):
        if not self._answers():
            raise OSError
        return self._table.process(pid)

    def children(self, pid):
        return self._table.children(pid)


def test_a_system_that_stops_answering_leaves_what_was_seen(child):
    answers = True
    watch = watched(child, lambda: Stubborn(lambda: answers))
    grandchild = child.fork("time.sleep(60)")
    watch.look()
    answers = False
    watch.look()
    assert not watch.is_over
    use = watch.reaped(child.end())
    kill(grandchild)
    assert use.survivors is None
    assert use.memory_peak > 0
    assert use.cpu_ns > 0


def test_a_fault_of_ours_is_not_the_programs(child, caplog):
    def tables():
        raise ZeroDivisionError

    watch = watched(child, tables)
    watch.look()
    use = watch.reaped(child.end(), exit_code=0)
    assert (use.pid, use.exit_code) == (child.pid, 0)
    assert "ZeroDivisionError" in caplog.text


def test_a_child_that_has_been_waited_for_already_is_not_mistaken():
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    watch = Watched(child.pid, None, table_of_this_machine)
    assert watch.is_over
    assert watch.reaped() == ProcessUse(pid=child.pid)


def test_a_child_seen_only_before_its_exec_has_no_known_peak(child):
    watch = watched(child)
    child.do("pass")
    watch.look()
    watch._tree = replace(watch._tree, memory_peak=0)
    assert watch.reaped(None).memory_peak is None
    child.end()
