from __future__ import annotations

import io
import sys

import pytest

from llmphases.cli.terminal import ReadingProgress, complain, paper_of_stdout, write


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self, encoding="utf-8"):
        super().__init__(io.BytesIO(), encoding=encoding)

    def isatty(self):
        return True

    def text(self):
        self.flush()
        return self.buffer.getvalue().decode(self.encoding)


@pytest.fixture(autouse=True)
def _plain_surroundings(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLUMNS", raising=False)


def use(monkeypatch, stream, name="stdout"):
    monkeypatch.setattr(sys, name, stream)
    return stream


def test_a_terminal_shows_colours(monkeypatch):
    use(monkeypatch, Terminal())
    assert paper_of_stdout().colour


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_that_shall_not_or_cannot_shows_none(name, value, monkeypatch):
    use(monkeypatch, Terminal())
    monkeypatch.setenv(name, value)
    assert not paper_of_stdout().colour


def test_a_pipe_shows_none(monkeypatch):
    use(monkeypatch, io.TextIOWrapper(io.BytesIO(), encoding="utf-8"))
    assert not paper_of_stdout().colour


@pytest.mark.parametrize(
    ("encoding", "smooth"),
    [("utf-8", True), ("ascii", False), ("latin-1", False), ("cp437", False)],
)
def test_bars_are_smooth_where_the_encoding_has_block_characters(encoding, smooth, monkeypatch):
    use(monkeypatch, Terminal(encoding))
    assert paper_of_stdout().unicode is smooth


def test_the_width_is_that_of_the_terminal_or_what_columns_says(monkeypatch):
    monkeypatch.setenv("COLUMNS", "133")
    assert paper_of_stdout().width == 133


def test_what_the_encoding_cannot_hold_is_written_as_an_escape(monkeypatch):
    stream = use(monkeypatch, Terminal("ascii"))
    write("käse")
    assert stream.text() == "k\\xe4se\n"


def test_a_complaint_goes_to_stderr(capsys):
    complain("too late")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "llmphases: too late\n")


def test_a_long_reading_shows_how_far_it_is_and_cleans_up(monkeypatch):
    stream = use(monkeypatch, Terminal(), "stderr")
    progress = ReadingProgress(100_000_000)
    progress(50_000_000)
    progress(1)
    progress.close()
    assert stream.text() == "\rreading:  50 %\r" + " " * 16 + "\r"


def test_a_short_reading_shows_nothing(monkeypatch):
    stream = use(monkeypatch, Terminal(), "stderr")
    progress = ReadingProgress(1000)
    progress(1000)
    progress.close()
    assert stream.text() == ""


def test_nobody_is_shown_progress_in_a_file(monkeypatch):
    stream = use(monkeypatch, io.StringIO(), "stderr")
    progress = ReadingProgress(100_000_000)
    progress(50_000_000)
    progress.close()
    assert stream.getvalue() == ""
