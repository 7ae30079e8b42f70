"""What is read of `/proc`, of folders that look like it, and by psutil."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lab.tries import tries
from llmphases.capture.children.process_table import (
    ProcFolder,
    PsutilTable,
    Seen,
    table_of_this_machine,
)

needs_proc = pytest.mark.skipif(
    not isinstance(table_of_this_machine(), ProcFolder), reason="no /proc with children"
)
TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
STAT = (
    "{pid} ({name}) {state} {parent} 1 1 0 -1 {flags} 0 0 0 0 {user} {system} {waited} 1 20 0 1 0"
    " 416610 5124096 951 18446744073709551615 1 1 0 0 0"
)


class Folder:
    """A folder that looks like /proc."""

    def __init__(self, path):
        self.path = path
        self.table = ProcFolder(str(path))

    def has(self, pid, parent=1, *, name="cat", state="S", flags=0, children=()):
        threads = self.path / str(pid) / "task"
        for number, some in enumerate(children or [""]):
            thread = threads / str(pid + number)
            thread.mkdir(parents=True)
            (thread / "children").write_text(some)
        said = STAT.format(
            pid=pid, name=name, state=state, parent=parent, flags=flags, user=2, system=3, waited=6
        )
        (self.path / str(pid) / "stat").write_text(said)


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


def test_a_process_is_read_from_its_stat_file(folder):
    folder.has(7, parent=3)
    assert folder.table.process(7) == Seen(
        pid=7, parent=3, started=416610, cpu_ns=5 * TICK_NS, waited_ns=7 * TICK_NS,
        memory=951 * PAGE,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["a) S 9 (b", ") Z 1", "", "two words", "(("])
def test_a_name_may_hold_anything(folder, name):
    folder.has(7, parent=3, name=name)
    assert folder.table.process(7).parent == 3


@pytest.mark.parametrize(("state", "is_zombie"), [("Z", True), ("X", True), ("R", False)])
def test_zombies_are_told(folder, state, is_zombie):
    folder.has(7, state=state)
    assert folder.table.process(7).is_zombie is is_zombie


def test_a_process_that_never_called_exec_is_a_copy(folder):
    folder.has(7, flags=0x400040)
    assert folder.table.process(7).is_copy


def test_each_thread_has_children_of_its_own(folder):
    folder.has(7, children=["8 9 ", "", "10 "])
    assert sorted(folder.table.children(7)) == [8, 9, 10]


def test_who_has_thousands_of_children_has_them_all(folder):
    pids = list(range(1000, 9000))
    folder.has(7, children=[" ".join(map(str, pids)) + " "])
    assert folder.table.children(7) == pids


def test_who_is_not_there_is_no_error(folder):
    assert folder.table.process(7) is None
    assert folder.table.children(7) == []


def test_a_thread_that_vanished_has_no_children(folder):
    folder.has(7, children=["8 ", "9 "])
    (folder.path / "7/task/8/children").unlink()
    assert folder.table.children(7) == [8]


@pytest.mark.parametrize("content", ["nonsense", "7 (cat) S 1", "7 (cat) S a b c d e f g h i j k"])
def test_what_is_no_stat_file_is_no_answer(folder, content):
    """Not the same as a process that has gone."""
    folder.has(7)
    (folder.path / "7/stat").write_text(content)
    with pytest.raises(OSError, match="stat"):
        folder.table.process(7)


def test_what_cannot_be_read_is_no_answer(folder):
    folder.has(7, children=["8"])
    (folder.path / "7/stat").unlink()
    (folder.path / "7/stat").mkdir()
    (folder.path / "7/task/7/children").write_text("8 x")
    with pytest.raises(IsADirectoryError):
        folder.table.process(7)
    with pytest.raises(OSError, match="no pids"):
        folder.table.children(7)


@needs_proc
def test_both_tables_say_the_same_of_a_real_child():
    with subprocess.Popen(["sleep", "60"]) as child:
        try:
            one, other = ProcFolder(), PsutilTable()
            for attempt in tries():
                seen = [one.process(child.pid), other.process(child.pid)]
                by_proc, by_psutil = (some._replace(started=0, memory=0) for some in seen)
                with attempt:  # it may still have something to do
                    assert by_proc == by_psutil
            assert seen[1].memory > 0
            assert child.pid in one.children(os.getpid())
            assert child.pid in other.children(os.getpid())
        finally:
            child.kill()


@pytest.mark.parametrize("kind", [ProcFolder, PsutilTable])
def test_both_tables_know_a_zombie_and_one_that_has_gone(kind):
    if kind is ProcFolder and not isinstance(table_of_this_machine(), ProcFolder):
        pytest.skip("no /proc")
    child = subprocess.Popen([sys.executable, "-c", "x = bytearray(2**20)"])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    seen = kind().process(child.pid)
    assert (seen.is_zombie, seen.memory) == (True, 0)
    child.wait()
    assert kind().process(child.pid) is None
    assert list(kind().children(child.pid)) == []


def test_without_proc_it_is_psutil_and_without_both_nobody(monkeypatch):
    """RC-073: psutil may be missing."""
    assert isinstance(table_of_this_machine("/nowhere"), PsutilTable)
    monkeypatch.setitem(sys.modules, "psutil", None)
    assert table_of_this_machine("/nowhere") is None
