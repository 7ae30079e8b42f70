"""Measures everybody in one run: each beside the bare client of its own environment, in turn.

All processes stay while a turn lasts, and only one works at a time. A figure is the median, over
all rounds of all turns, of what a peer took more than the bare client of the same round.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from types import TracebackType
from typing import Any, Self

from environments import Environment

HERE = Path(__file__).parent
UNITS = ("call", "few", "chunk")
WAYS = ("thread", "process")
Round = dict[str, dict[str, float]]


class Runner:
    """A process of a peer's environment that measures when it is told to."""

    def __init__(self, environment: Environment, switch: str, url: str) -> None:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("OTEL_", "PYTHON"))}
        self._complaints = tempfile.TemporaryFile("w+", errors="replace")  # noqa: SIM115  # closed in __exit__
        self._process = subprocess.Popen(
            [environment.python, HERE / "runner.py", switch, url],
            env=kept | {"PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
            text=True,
        )

    def last_words(self) -> str:
        """The last line of what it complained of."""
        self._complaints.seek(0)
        return ([line for line in self._complaints if line.strip()] or ["it says nothing"])[
            -1
        ].strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()
        self._complaints.close()

    def ask(self, word: str) -> Any:
        """What it answers; None if it has ended instead."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(f"{word}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            return None
        line = self._process.stdout.readline()
        return json.loads(line) if line else None


@dataclass(slots=True)
class Measured:
    """What has been found of one peer."""

    environment: Environment
    first_token: list[str] = field(default_factory=list)
    plain: list[Round] = field(default_factory=list)
    traced: list[Round] = field(default_factory=list)
    failed: str | None = None

    def added(self, unit: str, way: str) -> list[float]:
        """What it adds, in ns, round by round."""
        pairs = zip(self.plain, self.traced, strict=True)
        return [traced[unit][way] - plain[unit][way] for plain, traced in pairs]


def middle(values: list[float]) -> tuple[float, float, float]:
    """The median, and between which values half of them lie."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return median(values), low, high


def measure(environments: list[Environment], *, turns: int, rounds: int) -> list[Measured]:
    """All of them, in one run."""
    found = [Measured(one, failed=one.missing) for one in environments]
    with ExitStack() as stack:
        url = _server(stack)
        for turn in range(turns):
            _turn(found, url, f"turn {turn + 1} of {turns}", rounds)
    return found


def _server(stack: ExitStack) -> str:
    server = subprocess.Popen(
        [sys.executable, HERE / "server.py"], stdout=subprocess.PIPE, text=True
    )
    stack.callback(server.wait)
    stack.callback(server.kill)
    assert server.stdout is not None
    return f"http://127.0.0.1:{int(server.stdout.readline())}/v1"


def _turn(found: list[Measured], url: str, title: str, rounds: int) -> None:
    """New processes: what one of them happens to be like is no property of a peer."""
    with ExitStack() as stack:
        pairs = []
        for one in found:
            if one.failed is None:
                print(f"{title}: starting {one.environment.peer.name}", file=sys.stderr)
                plain = stack.enter_context(Runner(one.environment, "plain", url))
                traced = stack.enter_context(
                    Runner(one.environment, one.environment.peer.name, url)
                )
                proof = traced.ask("prove")
                one.failed = _fault(proof, traced)
                if one.failed is None:
                    one.first_token = proof["first_token"]
                    pairs.append((one, plain, traced))
        for number in range(rounds):
            print(f"{title}: round {number + 1} of {rounds}", file=sys.stderr)
            # Those who come first in one round come last in the next.
            for one, plain, traced in pairs if number % 2 else reversed(pairs):
                _round(one, plain, traced, plain_first=bool(number % 2))


def _fault(proof: Any, runner: Runner) -> str | None:
    if proof is None:
        return f"ended when it was switched on: {runner.last_words()}"
    return None if proof["records"] else "it recorded nothing"


def _round(one: Measured, plain: Runner, traced: Runner, *, plain_first: bool) -> None:
    order = (plain, traced) if plain_first else (traced, plain)
    answers = {id(runner): runner.ask("measure") for runner in order}
    if one.failed is None and None in answers.values():
        one.failed = "it ended while it was measured"
    elif one.failed is None:
        one.plain.append(answers[id(plain)])
        one.traced.append(answers[id(traced)])
