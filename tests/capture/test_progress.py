"""The line that says how far a job is: when it is written, and that it never disturbs."""

from __future__ import annotations

import io
import os
import pty
import subprocess
import sys
import textwrap
import threading
import types

import pytest

from lab.tries import tries
from llmphases import conventions as names
from llmphases import llm_job
from llmphases.capture import progress as progress_line
from llmphases.capture.progress import Progress


class Terminal(io.StringIO):
    """Something that says it is one."""

    def isatty(self) -> bool:
        return True


def stand_in(monkeypatch, stream):
    """Let standard error be `stream`, for the progress line alone: pytest sets it as well."""
    monkeypatch.setattr(progress_line, "sys", types.SimpleNamespace(stderr=stream))
    return stream


@pytest.fixture
def terminal(monkeypatch):
    return stand_in(monkeypatch, Terminal())


@pytest.fixture
def log(monkeypatch):
    """Standard error that goes to a file."""
    return stand_in(monkeypatch, io.StringIO())


@pytest.fixture
def quiet_thread(monkeypatch):
    """No thread looks at the clock: the test does."""
    monkeypatch.setattr(Progress, "_watch", lambda self: None)


pytestmark = pytest.mark.usefixtures("timed_calls", "quiet_thread")


def on_screen(written: str) -> str:
    """What a terminal shows of a line that was rewritten."""
    shown = ""
    for part in written.split("\r"):
        shown = part + shown[len(part) :]
    return shown.rstrip()


def test_a_short_job_says_nothing(terminal, clock):
    progress = Progress("boxes", wanted=None)
    progress.more(3)
    progress.one_done()
    clock.tick(1.99)
    progress.look()
    progress.finish()
    assert terminal.getvalue() == ""


def test_a_long_job_says_how_far_it_is(terminal, clock):
    progress = Progress("boxes", wanted=None)
    progress.more(3)
    progress.one_done()
    clock.tick(2)
    progress.look()
    assert on_screen(terminal.getvalue()) == "boxes: 1/3, 2 s"
    progress.one_done()
    clock.tick(60)
    progress.look()
    assert on_screen(terminal.getvalue()) == "boxes: 2/3, 62 s"


def test_it_is_seen_to_be_alive_before_anything_is_done(terminal, clock):
    progress = Progress("boxes", wanted=None)
    progress.more(8)
    clock.tick(30)
    progress.look()
    assert on_screen(terminal.getvalue()) == "boxes: 0/8, 30 s"


def test_the_line_is_taken_away_at_the_end(terminal, clock):
    progress = Progress("boxes", wanted=None)
    progress.more(1)
    clock.tick(2)
    progress.look()
    progress.finish()
    assert on_screen(terminal.getvalue()) == ""
    assert terminal.getvalue().endswith("\r")


def test_nothing_is_said_after_the_end(terminal, clock):
    progress = Progress("boxes", wanted=None)
    progress.more(1)
    progress.finish()
    clock.tick(5)
    progress.look()
    assert terminal.getvalue() == ""


def test_it_is_not_said_too_often(terminal, clock):
    progress = Progress("boxes", wanted=None)
    progress.more(100)
    clock.tick(2)
    for _ in range(100):
        progress.one_done()
        progress.look()
        clock.tick(0.01)
    assert terminal.getvalue().count("\r") == 5


def test_a_shorter_line_leaves_nothing_of_a_longer_one(terminal, clock):
    progress = Progress("boxes", wanted=None)
    progress.more(1)
    clock.tick(1000)
    progress.look()
    clock.tick(-998)
    progress._said_ns = None
    progress.look()
    assert on_screen(terminal.getvalue()) == "boxes: 0/1, 2 s"


def test_a_name_that_would_spoil_the_line_does_not(terminal, clock):
    progress = Progress("bo\nxes\x1b[2J" + "x" * 500, wanted=None)
    progress.more(1)
    clock.tick(2)
    progress.look()
    assert "\n" not in terminal.getvalue()
    assert "\x1b" not in terminal.getvalue()
    assert len(on_screen(terminal.getvalue())) < 80


def test_nothing_is_said_where_nobody_reads_along(log, clock):
    progress = Progress("boxes", wanted=None)
    progress.more(1)
    clock.tick(60)
    progress.look()
    progress.finish()
    assert log.getvalue() == ""


def test_asked_for_it_is_said_at_once_and_in_lines_of_its_own_in_a_log(log, clock):
    progress = Progress("boxes", wanted=True)
    progress.more(4)
    for _ in range(4):
        progress.look()
        progress.one_done()
        clock.tick(5)
    progress.finish()
    assert log.getvalue() == "boxes: 0/4, 0 s\nboxes: 2/4, 10 s\n"


def test_refused_it_is_not_said_on_a_terminal(terminal, clock):
    progress = Progress("boxes", wanted=False)
    progress.more(1)
    clock.tick(60)
    progress.look()
    assert terminal.getvalue() == ""


def test_nothing_is_said_with_everything_switched_off(terminal, clock, monkeypatch):
    monkeypatch.setenv(names.ENV_DISABLED, "1")
    progress = Progress("boxes", wanted=True)
    progress.more(1)
    progress.look()
    progress.finish()
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("wanted", [None, True])
def test_a_program_without_standard_error_is_not_disturbed(monkeypatch, clock, caplog, wanted):
    stand_in(monkeypatch, None)
    with llm_job("boxes", workers=1, progress=wanted) as job:
        assert list(job.map(str, [1])) == ["1"]
    assert caplog.records == []


class Sink:
    """All that `print` needs."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        pass


@pytest.mark.parametrize(("wanted", "said"), [(None, ""), (True, "boxes: 0/1, 0 s\n")])
def test_standard_error_may_be_anything_one_can_write_to(monkeypatch, clock, wanted, said):
    sink = stand_in(monkeypatch, Sink())
    progress = Progress("boxes", wanted=wanted)
    progress.more(1)
    progress.look()
    progress.finish()
    assert sink.text == said


@pytest.mark.parametrize("wanted", [None, True])
def test_standard_error_that_is_closed_is_left_alone(terminal, clock, caplog, wanted):
    terminal.close()
    with llm_job("boxes", workers=1, progress=wanted) as job:
        assert list(job.map(str, [1])) == ["1"]
    assert caplog.records == []


def test_standard_error_that_is_closed_meanwhile_is_written_to_no_more(terminal, clock, caplog):
    progress = Progress("boxes", wanted=True)
    progress.more(2)
    progress.look()
    terminal.close()
    clock.tick(1)
    progress.look()
    progress.one_done()
    progress.finish()
    assert caplog.records == []


def test_a_terminal_that_has_gone_is_written_to_no_more(terminal, clock, caplog, monkeypatch):
    tries = []

    def gone(text):
        tries.append(text)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(terminal, "write", gone)
    progress = Progress("boxes", wanted=True)
    progress.more(2)
    for _ in range(3):
        progress.look()
        clock.tick(1)
    progress.finish()
    assert len(tries) == 1
    assert caplog.records == []


def test_a_job_counts_what_it_hands_over_and_what_is_done(terminal, clock):
    begun, go = threading.Event(), threading.Event()

    def work(item):
        if item == 1:
            begun.set()
            assert go.wait(60)
        if item == 2:
            raise LookupError

    with llm_job("boxes", workers=1) as job:
        job.map(work, range(3))
        assert begun.wait(60)
        clock.tick(3)
        job._progress.look()
        assert on_screen(terminal.getvalue()) == "boxes: 1/3, 3 s"
        go.set()
    assert (job._progress._done, job._progress._total) == (3, 3)
    assert on_screen(terminal.getvalue()) == ""


async def test_an_asynchronous_job_counts_as_well(terminal, clock):
    async def work(item):
        if item == 2:
            clock.tick(4)
            job._progress.look()

    async with llm_job("boxes", workers=1) as job:
        await job.map(work, range(3))
    assert "boxes: 2/3, 4 s" in terminal.getvalue()
    assert on_screen(terminal.getvalue()) == ""


# --- on a real terminal -------------------------------------------------------------------------

PROGRAM = """
    import sys, threading
    from llmphases import llm_job
    seen = threading.Event()
    with llm_job("boxes", workers=2, {options}) as job:
        future = job.submit(seen.wait, {seconds})
    sys.stderr.write("end\\n")
"""


def run_on_a_terminal(options: str, seconds: float) -> str:
    """What a program writes to the terminal that its standard error is."""
    ours, theirs = pty.openpty()
    program = textwrap.dedent(PROGRAM.format(options=options, seconds=seconds))
    environment = {**os.environ, "LLMPHASES_FILE": os.devnull}
    with subprocess.Popen([sys.executable, "-c", program], stderr=theirs, env=environment) as child:
        os.close(theirs)
        written = b""
        while not written.endswith(b"end\r\n"):
            written += os.read(ours, 1024)
    os.close(ours)
    assert child.returncode == 0
    return written.decode()


@pytest.mark.slow
def test_on_a_terminal_the_line_comes_by_itself_and_goes():
    for attempt in tries():
        written = run_on_a_terminal("", 2.7)
        assert on_screen(written.removesuffix("end\r\n")) == ""
        with attempt:
            assert "\rboxes: 0/1, 2 s" in written


@pytest.mark.slow
def test_asked_for_on_a_terminal_it_comes_at_once():
    for attempt in tries():
        written = run_on_a_terminal("progress=True", 0.6)
        with attempt:
            assert "\rboxes: 0/1, 0 s" in written


@pytest.mark.slow
def test_a_short_job_leaves_a_terminal_alone():
    for attempt in tries():
        written = run_on_a_terminal("", 0.6)
        with attempt:
            assert written == "end\r\n"
