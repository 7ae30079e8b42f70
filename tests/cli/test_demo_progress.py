"""How far the demonstration is: a live line on a terminal, else two lines for each way."""

from __future__ import annotations

import asyncio
import io
import re
import sys

import pytest

from llmphases.cli.demo_progress import Progress


class Terminal(io.StringIO):
    """A stream that says it is a terminal, of 80 columns."""

    encoding = "utf-8"

    def isatty(self):
        return True


def use(monkeypatch, stream):
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def shown(stream):
    """The states of the live line, one after the other; times left out."""
    states = stream.getvalue().split("\r")[1:]
    return [re.sub(r" +\d+\.\d s$", "", state.rstrip("\n")) for state in states]


def test_a_terminal_shows_what_is_done_as_a_bar(monkeypatch):
    terminal = use(monkeypatch, Terminal())
    with Progress("one call", 4) as progress:
        for _ in range(2):
            progress.one_done()
    first, last = shown(terminal)
    assert first == "one call                                            0 of 4 segments"
    assert last == "one call                  ██████████                2 of 4 segments"
    assert terminal.getvalue().endswith("\n")


async def test_the_line_goes_on_while_nothing_is_done(monkeypatch):
    terminal = use(monkeypatch, Terminal())
    with Progress("one call", 4) as progress:
        watching = asyncio.create_task(progress.watch())
        while len(shown(terminal)) < 3:
            await asyncio.sleep(0.01)
        watching.cancel()
    assert len(shown(terminal)) >= 4


def test_no_line_is_wider_than_a_terminal(monkeypatch):
    terminal = use(monkeypatch, Terminal())
    with Progress("a title that is much too long for any terminal" * 3, 4):
        pass
    assert all(len(state) <= 79 for state in shown(terminal))


def test_a_terminal_without_block_characters_gets_others(monkeypatch):
    terminal = use(monkeypatch, Terminal())
    terminal.encoding = "ascii"
    with Progress("one call", 1) as progress:
        progress.one_done()
    assert terminal.getvalue().isascii()
    assert "#" * 20 in terminal.getvalue()


async def test_without_a_terminal_there_are_two_lines_and_nothing_in_between(monkeypatch):
    stream = use(monkeypatch, io.StringIO())
    with Progress("one call", 1) as progress:
        await progress.watch()  # has nothing to do
        progress.one_done()
    assert re.fullmatch(
        r"one call \.\.\.\none call: 1 of 1 segments, \d+\.\d s\n", stream.getvalue()
    )


@pytest.mark.parametrize("stream", [None, io.StringIO()], ids=["none", "closed"])
def test_who_cannot_hear_is_not_told(stream, monkeypatch):
    if stream is not None:
        stream.isatty = lambda: False
        stream.close()
    use(monkeypatch, stream)
    with Progress("one call", 1) as progress:
        progress.one_done()
