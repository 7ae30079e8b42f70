from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import subprocess
import termios
import tty
from pathlib import Path

import pytest

from llmphases.capture.children.command import command_of
from llmphases.capture.children.pty_ends import Stdin, TerminalEnds, terminals_for


def resize(fd, rows, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


@contextlib.contextmanager
def our_terminal():
    """stdout and stderr of this process are a terminal; gives its other side."""
    outside, inside = os.openpty()
    resize(inside, 30, 90)
    kept = [os.dup(fd) for fd in (1, 2)]
    for fd in (1, 2):
        os.dup2(inside, fd)
    try:
        yield outside
    finally:
        for fd, before in zip((1, 2), kept, strict=True):
            os.dup2(before, fd)
            os.close(before)
        os.close(outside)
        os.close(inside)


@pytest.fixture
def ends():
    opened = []

    def connect(stdin=Stdin.NOTHING, given=None):
        command = command_of("test", ["true"], {"input": given}, text=False)
        made = terminals_for(stdin, opened.append)(command)
        assert opened[-1] is made
        return made

    yield connect
    for made in opened:
        made.release()
        made.close_ours()
        made.close_theirs()


def test_where_ours_is_no_terminal_there_are_pipes(ends, capfd):
    made = ends()
    assert not any(map(os.isatty, made.theirs.values()))
    assert made.resize() is False


def test_where_ours_is_a_terminal_there_are_terminals_of_its_size(ends):
    with our_terminal() as terminal:
        made = ends()
        assert all(map(os.isatty, made.theirs.values()))
        assert {tuple(os.get_terminal_size(fd)) for fd in made.theirs.values()} == {(90, 30)}
        resize(terminal, 10, 20)
        assert made.resize() is True
        assert made.resize() is False
        assert {tuple(os.get_terminal_size(fd)) for fd in made.theirs.values()} == {(20, 10)}


def test_what_is_written_comes_out_as_it_is(ends):
    with our_terminal():
        made = ends()
        data = bytes(range(256)) + b"\r\n\n"
        os.write(made.theirs[1], data)
        assert os.read(made.ours[1], 1000) == data


def test_our_terminal_follows_the_mode_of_the_childs_and_back():
    with our_terminal():
        before = termios.tcgetattr(1)
        made = TerminalEnds(with_stdin=False, stdin=Stdin.OURS)
        first = termios.tcgetattr(made.theirs[2])
        made.mirror()
        assert termios.tcgetattr(1) == before
        tty.setcbreak(made.theirs[2])
        made.mirror()
        assert termios.tcgetattr(1) == termios.tcgetattr(made.theirs[2])
        termios.tcsetattr(made.theirs[2], termios.TCSANOW, first)
        made.close_ours()
        made.close_theirs()
        made.release()
        assert termios.tcgetattr(1) == before


def test_a_mode_that_somebody_else_gave_our_terminal_is_theirs_until_they_give_it_back():
    """The next program, which was faster than we were to see that a pager has gone."""
    with our_terminal():
        before = termios.tcgetattr(1)
        made = TerminalEnds(with_stdin=False, stdin=Stdin.OURS)
        first = termios.tcgetattr(made.theirs[2])
        tty.setcbreak(made.theirs[2])
        made.mirror()
        from_us = termios.tcgetattr(1)
        tty.setraw(1)
        raw = termios.tcgetattr(1)
        termios.tcsetattr(made.theirs[2], termios.TCSANOW, first)
        made.mirror()
        assert termios.tcgetattr(1) == raw
        termios.tcsetattr(1, termios.TCSANOW, from_us)
        made.close_ours()
        made.close_theirs()
        made.release()
        assert termios.tcgetattr(1) == before


def test_sizes_are_no_matter_once_the_child_has_gone(ends):
    with our_terminal() as terminal:
        made = ends()
        made.close_theirs()
        made.close_ours()
        resize(terminal, 10, 20)
        assert made.resize() is False


def test_where_there_are_no_terminals_left_there_are_pipes(ends, monkeypatch):
    with our_terminal():

        def refuse():
            raise OSError("none left")

        monkeypatch.setattr(os, "openpty", refuse)
        assert not any(map(os.isatty, ends().theirs.values()))


def test_stdin_is_ours_or_nothing_or_what_is_given(ends, capfd):
    assert ends(Stdin.OURS).theirs_in is None
    assert ends(Stdin.NOTHING).theirs_in == subprocess.DEVNULL
    given = ends(Stdin.OURS, b"x")
    assert given.theirs_in is not None
    assert given.ours_in is not None


def test_no_descriptor_is_left_open():
    with our_terminal():

        def count():
            return len(list(Path("/dev/fd").iterdir()))

        before = count()
        for stdin in Stdin:
            made = TerminalEnds(with_stdin=False, stdin=stdin)
            made.close_ours()
            made.close_theirs()
            made.release()
        assert count() == before
