"""Keys for who reads them at the terminal behind stderr; as a whole: cli/test_run_signals.py."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import tty
from pathlib import Path

import pytest

from llmphases.capture.children import pty_keys
from llmphases.capture.children.pty_keys import Keys, is_read, wants_single_keys

PATIENCE_S = 60
needs_proc = pytest.mark.skipif(not Path("/proc/self/fdinfo").exists(), reason="needs /proc")


@pytest.fixture
def terminal():
    """Both sides of one: where it is typed and seen, and where a program has it."""
    sides = os.openpty()
    yield sides
    for side in sides:
        os.close(side)


@pytest.fixture
def another():
    sides = os.openpty()
    yield sides
    for side in sides:
        os.close(side)


def test_single_keys_are_asked_for_by_the_mode(terminal):
    outside, inside = terminal
    assert not wants_single_keys(outside)
    tty.setcbreak(inside)
    assert wants_single_keys(outside)
    reading, writing = os.pipe()
    assert not wants_single_keys(reading)
    os.close(reading)
    os.close(writing)


@needs_proc
def test_who_only_writes_to_a_terminal_does_not_read_it(terminal):
    _, inside = terminal
    name = os.ttyname(inside)
    assert not is_read(name)
    opened = os.open(name, os.O_WRONLY | os.O_NOCTTY)
    copy = os.dup(inside)
    assert not is_read(name)
    os.close(opened)
    os.close(copy)


@needs_proc
def test_who_opened_it_for_reading_reads_it(terminal):
    name = os.ttyname(terminal[1])
    opened = os.open(name, os.O_RDONLY | os.O_NOCTTY)
    assert is_read(name)
    os.close(opened)
    assert not is_read(name)


@needs_proc
@pytest.mark.parametrize(("elsewhere", "found"), [(False, True), (True, False)])
def test_whose_stdin_it_is_reads_it_if_of_our_session(terminal, elsewhere, found):
    with subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        stdin=terminal[1], stdout=subprocess.PIPE, start_new_session=elsewhere,
    ) as child:  # fmt: skip
        assert child.stdout.readline() == b"\n"
        assert is_read(os.ttyname(terminal[1])) is found
        os.write(terminal[0], b"\n")


def test_where_nothing_tells_nobody_reads(terminal, monkeypatch, tmp_path):
    monkeypatch.setattr(pty_keys, "_PROCESSES", tmp_path / "absent")
    assert not is_read(os.ttyname(terminal[1]))


@pytest.fixture
def keys(terminal, another):
    """From one terminal to the other; with an event that is set when no more are asked for."""
    over = threading.Event()
    made = Keys(terminal[1], another[0], os.ttyname(another[1]), over.set)
    yield made, over
    made.stop()


def read(fd):
    assert select.select([fd], [], [], PATIENCE_S)[0]
    return os.read(fd, 100)


@needs_proc
def test_keys_are_brought_one_by_one_until_no_more_are_asked_for(keys, terminal, another):
    made, over = keys
    tty.setcbreak(terminal[1])
    tty.setcbreak(another[1])
    reader = os.open(os.ttyname(another[1]), os.O_RDONLY | os.O_NOCTTY)
    made.follow()
    made.follow()
    os.write(terminal[0], b"jq")
    assert [read(reader), read(reader)] == [b"j", b"q"]
    os.write(terminal[0], b"\x1b[A")
    assert read(reader) == b"\x1b[A"
    made.stop()
    assert over.is_set()
    os.write(terminal[0], b"next")
    assert read(terminal[1]) == b"next"
    os.close(reader)


@needs_proc
def test_what_nobody_reads_stays_where_it_was_typed(keys, terminal, another):
    made, over = keys
    tty.setcbreak(terminal[1])
    tty.setcbreak(another[1])
    made.follow()
    os.write(terminal[0], b"k")
    assert read(terminal[1]) == b"k"
    made.stop()
    assert over.is_set()


def test_nothing_begins_without_being_asked_for(keys):
    made, over = keys
    made.follow()
    made.stop()
    assert not over.is_set()
