"""Output of real programs, played at its own pace by a child: every moment is where it was.

The child notes when it wrote what, on the clock that we use as well. Where one stamp comes late on
a busy machine the capture is played again; of what a program reads itself it may be unknown.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from capture.children.captures import COMMANDS, PLAYED, TOLD_AT
from capture.children.tools_of_ours import PYTHON
from lab.tries import TRIES, tries
from llmphases import llm_call, run_command, run_command_async, stream_command
from llmphases.adapters.commands.registry import format_for
from llmphases.testing import recorded

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("hooked")]

SLACK_NS = 20_000_000
UNKNOWN = ({"inference"}, {"inference", "process_shutdown"})


@dataclass
class Play:
    """One capture that is played under the name of its program."""

    name: str
    folder: Path

    def __post_init__(self):
        self.format_name, self.records, self.expected = PLAYED[self.name]
        self.folder.mkdir()
        program, *words = COMMANDS[self.format_name].split()
        self.argv = [str(self.folder / program), *words]
        source = Path(__file__).with_name("player.py").read_text("utf-8")
        Path(self.argv[0]).write_text(f"#!{PYTHON} -S\n{source}", "utf-8")
        Path(self.argv[0]).chmod(0o755)
        lines = "".join(json.dumps(record) + "\n" for record in self.records)
        (self.folder / "played").write_text(lines, "utf-8")

    def env(self):
        """Of the child; it is about to be spawned."""
        self.began_ns = time.perf_counter_ns()
        return os.environ | {
            "PLAYED": str(self.folder / "played"),
            "STAMPS": str(self.folder / "stamps"),
            "BEGAN": str(self.began_ns),
        }

    def truth(self):
        """Phase, start and end as the child had them: the bounds of each, in nanoseconds."""
        noted = (self.folder / "stamps").read_text("ascii").splitlines()
        stamps = [tuple(map(int, line.split())) for line in noted]
        times = [record["t_ms"] for record in self.records]

        def bounds(ms):
            if ms == 0:
                return self.began_ns, self.began_ns
            told_ms = TOLD_AT[ms] if ms not in times else ms
            before_ns, after_ns = stamps[times.index(told_ms)]
            ahead_ns = round((ms - told_ms) * 1e6)
            return before_ns + ahead_ns, after_ns + ahead_ns

        return [(phase, bounds(start), bounds(end)) for phase, start, end in self.expected]

    def fault(self, call, start_ns):
        """What is wrong with a call; None if nothing is."""
        found = [(s.phase.value, s.start_ns, s.end_ns) for s in call.stretches]
        truth = self.truth()
        if [phase for phase, _, _ in found] != [phase for phase, _, _ in truth]:
            return f"{found} instead of {self.expected}"
        for (phase, *got), (_, *bounds) in zip(found, truth, strict=True):
            for at_ns, (before_ns, after_ns) in zip(got, bounds, strict=True):
                if not before_ns <= start_ns + at_ns <= after_ns + SLACK_NS:
                    late_ms = (start_ns + at_ns - before_ns) / 1e6
                    return f"{phase} {found}: {late_ms:.1f} ms from {self.expected}"
        return None


def in_threads(run):
    def all_at_once(plays):
        with ThreadPoolExecutor(len(plays)) as pool:
            list(pool.map(run, plays))

    return all_at_once


def in_a_loop(run):
    async def together(plays):
        await asyncio.gather(*map(run, plays))

    return lambda plays: asyncio.run(together(plays))


def by_run_command(play):
    run_command(play.argv, env=play.env(), name=play.name)


async def by_run_command_async(play):
    await run_command_async(play.argv, env=play.env(), name=play.name)


def by_stream_command(play):
    for _ in stream_command(play.argv, env=play.env(), name=play.name):
        pass


def by_subprocess(play):
    with llm_call(play.name):
        subprocess.run(play.argv, env=play.env(), capture_output=True, check=True)


async def by_asyncio(play):
    with llm_call(play.name):
        process = await asyncio.create_subprocess_exec(
            *play.argv, env=play.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        await process.communicate()


WAYS = {
    "run_command": in_threads(by_run_command),
    "run_command_async": in_a_loop(by_run_command_async),
    "stream_command": in_threads(by_stream_command),
    "subprocess, hooked": in_threads(by_subprocess),
    "asyncio, hooked": in_a_loop(by_asyncio),
}


def is_unknown(call):
    """Whether nothing is said of the first token, since nobody can be sure of it."""
    return call.first_token_ns is None and {p.value for p in call.exclusive_ns} in UNKNOWN


@pytest.mark.parametrize("way", WAYS)
def test_each_moment_of_a_capture_is_where_the_program_had_it(way, tmp_path):
    faults = dict.fromkeys(PLAYED, "not played yet")
    for attempt in tries():
        folder = tmp_path / str(attempt.number)
        folder.mkdir()
        plays = {name: Play(name, folder / str(i)) for i, name in enumerate(faults)}
        with recorded() as kept:
            WAYS[way](list(plays.values()))
        starts = {call.name: call.start_ns for call in kept.open_calls}
        calls = {call.name: call for call in kept.calls}
        found = {name: play.fault(calls[name], starts[name]) for name, play in plays.items()}
        may_be_unknown = way.endswith("hooked") and attempt.number == TRIES - 1
        faults = {
            name: fault
            for name, fault in found.items()
            if fault and not (may_be_unknown and is_unknown(calls[name]))
        }
        with attempt:
            assert faults == {}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_commands_print_in_their_formats(name):
    assert format_for(COMMANDS[name].split()).name == name
