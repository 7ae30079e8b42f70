"""Several runs of a command: what passes through, what is told, and how it ends."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys

import pytest

from capture.children.tools_of_ours import tool
from cli.screens import screen

RUN = [sys.executable, "-m", "llmphases", "run"]

pytestmark = pytest.mark.slow

COUNTED = """
import pathlib
place = pathlib.Path('runs'); place.mkdir(exist_ok=True)
number = 0
while True:
    try: place.joinpath(str(number)).touch(exist_ok=False); break
    except FileExistsError: number += 1
"""
"""The number of a run among its like, counted in the current directory."""


def done(options, program, folder, **more):
    given = {"stdin": subprocess.DEVNULL} if "input" not in more else {}
    return subprocess.run(
        [*RUN, *options, "--", *tool(COUNTED + program)],
        cwd=folder, capture_output=True, timeout=120, check=False, **given, **more,
    )  # fmt: skip


def told(result):
    return json.loads(result.stderr.splitlines()[-1])


def test_only_the_first_run_is_seen_and_all_are_told(tmp_path):
    result = done(["--repeat", "3", "--json"], "out(f'run {number}'); err('note')", tmp_path)
    assert (result.returncode, result.stdout) == (0, b"run 0")
    assert result.stderr.count(b"note") == 1
    alone = told(result)["alone"]
    assert (alone["runs"], alone["failed"], alone["workers"]) == (3, 0, 1)
    assert alone["duration_s"]["count"] == 3
    assert re.findall(rb"run (\d) of 3: \d", result.stderr) == [b"1", b"2", b"3"]


def test_in_parallel_so_many_run_at_once_in_whole_waves(tmp_path):
    """Each run of the wave waits until the last of it is there."""
    program = (
        "out(str(number))\nwhile number > 1 and not place.joinpath('4').exists(): time.sleep(0.01)"
    )
    result = done(["--repeat", "2", "--parallel", "3", "--json"], program, tmp_path)
    assert (result.returncode, result.stdout) == (0, b"0")
    found = told(result)
    assert (found["alone"]["runs"], found["together"]["runs"]) == (2, 3)
    assert found["together"]["workers"] == 3
    assert found["times_as_long"]["duration"] > 0
    assert len(list((tmp_path / "runs").iterdir())) == 5


def test_without_repeat_it_is_one_alone_and_one_wave(tmp_path):
    result = done(["--parallel", "2"], "out('x')", tmp_path)
    text = result.stderr.decode()
    assert "1 run one at a time, 2 with 2 at a time, none failed" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_first_that_fails_says_how_it_ends_and_why(tmp_path):
    program = "err(f'one\\nbecause of {number}\\n\\n'); sys.exit(number + 3 if number else 0)"
    result = done(["--repeat", "3"], program, tmp_path)
    assert result.returncode == 4
    text = result.stderr.decode()
    assert "llmphases: a run failed with exit status 4: because of 1\n" in text
    assert "3 runs one at a time, 2 failed" in text


def test_all_read_the_same_input(tmp_path):
    program = (
        "data = sys.stdin.buffer.read(); out(str(len(data))); sys.exit(data != b'\\xffx' * 99)"
    )
    result = done(["--repeat", "2", "--parallel", "2"], program, tmp_path, input=b"\xffx" * 99)
    assert (result.returncode, result.stdout) == (0, b"198")


def test_what_cannot_be_started_is_tried_once(tmp_path):
    words = [*RUN, "--repeat", "3", "--", "no-such-command"]
    result = subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, check=False, cwd=tmp_path
    )
    assert result.returncode == 127
    assert result.stderr == b"llmphases: no-such-command: command not found\n"


def test_all_runs_of_a_kind_are_one_trace(tmp_path):
    done(["--repeat", "2", "--parallel", "2", "--name", "ask", "--save", "t"], "out('x')", tmp_path)
    spans = [
        span
        for line in (tmp_path / "t").read_text().splitlines()
        for resource in json.loads(line)["resourceSpans"]
        for scope in resource["scopeSpans"]
        for span in scope["spans"]
    ]
    jobs = {s["spanId"]: s for s in spans if s["name"] in {"ask_alone", "ask_parallel"}}
    calls = [s for s in spans if s["name"] == "ask"]
    assert (len(jobs), len(calls)) == (2, 4)
    for call in calls:
        assert call["traceId"] == jobs[call["parentSpanId"]]["traceId"]


def test_a_signal_ends_what_runs_and_no_more_are_started(tmp_path):
    program = "out('ready\\n' if number == 0 else ''); time.sleep(60 * (number > 0))"
    words = [*RUN, "--repeat", "5", "--", *tool(COUNTED + program)]
    with subprocess.Popen(
        words, cwd=tmp_path, stdin=subprocess.DEVNULL, start_new_session=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        assert process.stdout.readline() == b"ready\n"
        assert b"run 1 of 5" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        text = process.stderr.read()
        assert process.wait(120) == 143
    assert b"run 3 of 5" not in text
    assert b"start-up" in text


def test_on_a_terminal_there_is_a_bar_and_nothing_is_read_from_the_keys(tmp_path):
    program = "print([os.isatty(fd) for fd in (0, 1, 2)], sys.stdin.read() == '')"
    words = ["env", "-C", str(tmp_path), *RUN, "--repeat", "3", "--", *tool(program)]
    with screen(words, TERM="xterm-256color") as shown:
        shown.expect(r"\[False, True, True\] True\r\n")
        shown.expect(r"/3")
        shown.expect(r"3 runs one at a time, none failed")
        assert shown.status() == 0
