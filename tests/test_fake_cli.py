"""The stand-in tool: it answers what it is asked, after the delays that are stated."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys

import pytest

from llmphases import Phase, fake_cli, run_command
from llmphases.testing import recorded_calls


@pytest.fixture
def slept(monkeypatch):
    """How long it would have slept, each time."""
    times = []
    monkeypatch.setattr(fake_cli, "_sleep", times.append)
    return times


def test_each_line_of_the_prompt_is_answered(slept, capsys):
    assert fake_cli.main(["intro\ntitle"]) == 0
    assert capsys.readouterr().out == "intro: box 0 0 30 20\ntitle: box 7 5 30 20\n"


def test_without_a_prompt_it_is_read_from_stdin(slept, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("intro\n"))
    assert fake_cli.main([]) == 0
    assert capsys.readouterr().out == "intro: box 0 0 30 20\n"


def test_the_delays_are_those_that_are_stated(slept, capsys):
    fake_cli.main(["a\nb\nc", "--startup-s", "5", "--prompt-s", "7", "--per-line-s", "6"])
    startup, prompt, *words = slept
    assert (startup, prompt) == (5.0, 7.0)
    assert words == [1.0] * 17  # between the first and the last of 18 words


def test_its_events_say_when_it_is_ready_and_what_it_writes(slept, capsys):
    fake_cli.main(["intro", "--output-format", "stream-json"])
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["type"] for event in events] == ["system", *["stream_event"] * 6, "result"]
    pieces = [event["event"]["delta"]["text"] for event in events[1:-1]]
    assert "".join(pieces) == "intro: box 0 0 30 20\n"
    assert events[-1]["usage"] == {"input_tokens": 1, "output_tokens": 6}


@pytest.mark.parametrize("seconds", ["-1", "nan", "inf", "soon"])
def test_what_is_no_time_is_wrong_usage(seconds, capsys):
    with pytest.raises(SystemExit) as leaving:
        fake_cli.main(["--prompt-s", seconds])
    assert leaving.value.code == 2
    assert f"{seconds!r}; expected seconds, such as 0.5" in capsys.readouterr().err


@pytest.mark.slow
def test_as_a_child_its_phases_can_be_told_apart():
    command = [sys.executable, "-m", "llmphases.fake_cli", "--output-format", "stream-json"]
    delays = ["--startup-s", "0.05", "--prompt-s", "0.2", "--per-line-s", "0.1"]
    with recorded_calls() as calls:
        done = run_command([*command, *delays, "a\nb\nc"], format="claude-stream-json")
    assert done.returncode == 0
    (call,) = calls
    assert call.first_token_rule == "init_event"
    assert call.first_token_ns >= 250_000_000
    assert call.usage.output_tokens == 18
    assert {Phase.PROCESS_STARTUP, Phase.TIME_TO_FIRST_TOKEN, Phase.GENERATION} <= set(
        call.exclusive_ns
    )


@pytest.mark.slow
def test_an_interrupt_ends_it_without_a_word():
    command = [sys.executable, "-m", "llmphases.fake_cli", "--per-line-s", "600", "a"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout.read(1) == b"a"
        child.send_signal(signal.SIGINT)
        assert child.communicate()[1] == b""
    assert child.returncode == -signal.SIGINT
