"""What the demonstration tells: measured times only, and commands that work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace

import pytest

from lab.loopback import LoopbackServer, QuietHandler
from llmphases.calls import Call, Stretch
from llmphases.cli.demo_story import WAYS
from llmphases.cli.demo_text import Outcome, as_json, ending, opening, sending
from llmphases.phases import Phase
from llmphases.reports.contract import Paper

MS = 1_000_000
NOON = 1_780_000_000_000 * MS


def call(name, at_ms, fixed_ms, generation_ms):
    fixed, whole = fixed_ms * MS, (fixed_ms + generation_ms) * MS
    return Call(
        name=name,
        start_unix_ns=NOON + at_ms * MS,
        duration_ns=whole,
        exclusive_ns={Phase.PROCESS_STARTUP: fixed, Phase.GENERATION: whole - fixed},
        stretches=(
            Stretch(phase=Phase.PROCESS_STARTUP, start_ns=0, end_ns=fixed),
            Stretch(phase=Phase.GENERATION, start_ns=fixed, end_ns=whole),
        ),
    )


def outcome(**more):
    """As the story goes: 12 s, 9 s, and 4.5 s."""
    calls = [call("one_call", 0, 2000, 10_000)]
    calls += [
        call("many_calls", 20_000 + 3000 * (n // 4), 2000, 1000) for n in range(WAYS[1].chunks)
    ]
    calls += [call("one_wave", 40_000, 2000, 2500) for _ in range(4)]
    given = {"scale": 30.0, "calls": calls, "file": "demo.jsonl", "sent_to": ()}
    return Outcome(**given | more)


def test_the_opening_says_what_is_played_and_how_long_it_takes():
    text = opening(30.0, Paper())
    assert "68 s before its answer begins, then 1.9 s a segment" in text
    assert text.endswith("plays it 30 times as fast, as real child processes: about 26 s\nin all.")


def test_the_table_holds_what_was_measured():
    lines = ending(outcome(), Paper()).splitlines()
    table = lines[lines.index(next(line for line in lines if "each call pays" in line)) :]
    assert table[1:5] == [
        "                               took      fixed generation      share  real case",
        "one call for everything      12.0 s     2.00 s     10.0 s       17 %   6:04 min",
        "12 calls, 4 at a time        9.00 s     2.00 s     1.00 s       67 %   4:29 min",
        "4 calls, all at once         4.50 s     2.00 s     2.50 s       44 %   2:53 min",
    ]


def test_the_lesson_is_about_what_was_measured():
    text = " ".join(ending(outcome(), Paper()).split())
    assert "3 x 2.00 s of 9.00 s" in text
    assert "62 % less time than one call, 50 % less time than 12." in text


def test_the_lesson_does_not_claim_what_was_not_seen():
    slow = [
        replace(one, duration_ns=2 * one.duration_ns) if one.name == "one_wave" else one
        for one in outcome().calls
    ]
    text = " ".join(ending(outcome(calls=slow), Paper()).split())
    assert "25 % less time than one call, 0 % less time than 12." in text


@pytest.mark.parametrize("width", [40, 80, 200])
@pytest.mark.parametrize("sent_to", [(), ("http://localhost:4318/v1/traces",)])
def test_nothing_is_wider_than_eighty_columns(width, sent_to):
    text = opening(30.0, Paper(width=width)) + ending(outcome(sent_to=sent_to), Paper(width=width))
    assert max(map(len, text.splitlines())) <= max(80, min(width, 120))


def test_where_the_traces_are_is_said_with_what_to_do_with_them():
    text = ending(outcome(file="my traces.jsonl"), Paper())
    assert "\n  my traces.jsonl\n" in text
    assert "\n  llmphases report 'my traces.jsonl'\n" in text
    assert "OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 llmphases demo" in text


def test_traces_that_were_sent_need_not_be_sent_again():
    text = ending(outcome(sent_to=("http://jaeger:4318/v1/traces",)), Paper())
    assert "\n  http://jaeger:4318/v1/traces\n" in text
    assert "curl" not in text


def test_json_holds_the_same():
    said = json.loads(as_json(outcome()))
    assert [way["took_s"] for way in said["ways"]] == [12.0, 9.0, 4.5]
    assert [way["fixed_s"] for way in said["ways"]] == [2.0, 24.0, 8.0]
    assert said["ways"][1]["fixed_share"] == pytest.approx(2 / 3)
    assert said["report"]["calls"] == 17


class _Keeping(QuietHandler):
    def do_POST(self):
        self.server.owner.kept.append((self.path, self.headers["content-type"], self.body()))
        self.answer(200, b"{}", "application/json")


class _Receiver(LoopbackServer):
    handler = _Keeping

    def __init__(self):
        super().__init__()
        self.kept = []


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
def test_the_commands_that_send_the_file_do_so(tmp_path):
    texts = r"a\nb %s $HOME", "x" * 300_000
    lines = [json.dumps({"resourceSpans": [], "text": text}) for text in texts]
    file = tmp_path / "demo.jsonl"
    file.write_text("".join(f"{line}\n" for line in lines))
    with _Receiver() as receiver:
        script = sending(str(file), receiver.url)
        done = subprocess.run(
            ["sh", "-c", script], env=os.environ | {"NO_PROXY": "*"},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    expected = [("/v1/traces", "application/json", line.encode()) for line in lines]
    assert receiver.kept == expected
