from __future__ import annotations

import io
import sys

import pytest

from llmphases.cli import run_progress
from llmphases.cli.run_progress import RunsProgress
from reports.sample_groups import call


@pytest.fixture
def told(monkeypatch):
    lines = []
    monkeypatch.setattr(run_progress, "tell", lines.append)
    return lines


def test_without_a_terminal_each_run_is_a_line(told, capsys):
    with RunsProgress(2) as progress:
        progress.one_done(call(generation=1.0))
        progress.say("odd \x1b[2J")
        progress.one_done(None)
    assert told == [
        "llmphases: run 1 of 2: 1.00 s", "llmphases: odd \\x1b[2J", "llmphases: run 2 of 2",
    ]  # fmt: skip


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_there_is_a_bar_after_the_first_run(told, monkeypatch):
    pytest.importorskip("rich")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    with RunsProgress(3) as progress:
        assert terminal.getvalue() == ""
        progress.one_done(call(generation=1.0))
        progress.say("a run failed [3]")
        progress.one_done(call(generation=1.0))
    assert told == []
    assert "2/3" in terminal.getvalue()
    assert "llmphases: a run failed [3]" in terminal.getvalue()


def test_without_rich_it_is_lines_on_a_terminal_too(told, monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "rich.console", None)
    with RunsProgress(1) as progress:
        progress.one_done(call(generation=1.0))
    assert told == ["llmphases: run 1 of 1: 1.00 s"]
