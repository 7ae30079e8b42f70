"""A real tool, asked in each way that we can run it, and what the server knows of the same run."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import llmphases
from lab.agent_server import AgentServer, Turn
from lab.wired import wired
from llmphases import llm_call, run_command
from llmphases.calls import Call, Stretch
from llmphases.phases import Phase
from llmphases.sources.otlp_file import OtlpFiles

TIMEOUT_S = 120
MS = 1_000_000
NEAR_NS = 50 * MS
"""How close a stamp of ours has to be to that of the server; once in a few tries."""
STATED = Turn(first_token_s=0.5, gap_s=0.2, tokens=4, cached=5)
"""What most of the tests ask for."""
OVERLOADED = Turn(status=529, retry_after_s=1)
REFUSED = Turn(status=400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One request as the server saw it, in nanoseconds from the start of the call."""

    received_ns: int
    first_token_ns: int | None
    last_token_ns: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What came of one run of a tool."""

    call: Call
    code: int
    stdout: str
    model: str
    asked: list[Asked]

    @property
    def phases(self) -> list[str]:
        """The names of the phases, in their order."""
        return [stretch.phase.value for stretch in self.call.stretches]

    def of(self, phase: Phase) -> list[Stretch]:
        """The stretches of a phase, in their order."""
        return [stretch for stretch in self.call.stretches if stretch.phase is phase]

    def start_is_early_by(self) -> int:
        """How long before the first request reached the server the start is said to be over."""
        return self.asked[0].received_ns - self.of(Phase.PROCESS_STARTUP)[0].end_ns

    def tokens_are_off_by(self) -> int:
        """How far first and last tokens are from where the server wrote them, at most."""
        answered = [one for one in self.asked if one.first_token_ns is not None]
        pairs = zip(self.of(Phase.GENERATION), answered, strict=True)
        return max(
            max(abs(ours.start_ns - one.first_token_ns), abs(ours.end_ns - one.last_token_ns))
            for ours, one in pairs
        )

    def lasted(self, phase: Phase) -> int:
        """How long all of a phase was."""
        return self.call.exclusive_ns.get(phase, 0)


@dataclass(slots=True)
class Tool:
    """A tool that knows its server."""

    words: Callable[[str], Sequence[str]]
    """Its command line for a model."""
    env: Mapping[str, str] | Callable[[str], Mapping[str, str]]
    folder: Path
    server: AgentServer
    endpoint: str | None = None
    """Where traces of ours go."""
    _numbers: itertools.count = field(default_factory=itertools.count)

    def ask(self, way: Way, *turns: Turn, more: Sequence[str] = (), tap: bool = False) -> Seen:
        """Run it once against a server that answers so."""
        model = self.server.asks(*(turns or (STATED,)))
        argv = [*self.words(model), *more]
        env = dict(self.env(model) if callable(self.env) else self.env)
        call, code, stdout = way(self, argv, env, tap)
        return Seen(
            call=call, code=code, stdout=stdout, model=model, asked=self._asked(model, call)
        )

    def _asked(self, model: str, call: Call) -> list[Asked]:
        into_call = time.time_ns() - time.monotonic_ns() - call.start_unix_ns
        found = []
        for served in self.server.served(model):
            tokens = [ns + into_call for kind, ns in served.pieces if kind == "token"]
            found.append(
                Asked(
                    received_ns=served.received_ns + into_call,
                    first_token_ns=tokens[0] if tokens else None,
                    last_token_ns=tokens[-1] if tokens else None,
                )
            )
        return found

    def file(self) -> Path:
        """A new file for traces."""
        return self.folder / f"traces-{next(self._numbers)}.jsonl"


Way = Callable[[Tool, Sequence[str], dict[str, str], bool], tuple[Call, int, str]]


def by_runner(tool, argv, env, tap):
    """`run_command`."""
    with wired(endpoint=tool.endpoint):
        result = run_command(argv, env=env, cwd=tool.folder, tap=tap, timeout=TIMEOUT_S)
    assert result.tap == ("requests" if tap else None)
    return result.call, result.returncode, result.stdout


def by_hooks(tool, argv, env, tap):
    """`subprocess.run` in a traced block, with our hooks."""
    assert not tap
    llmphases.instrument("subprocess")
    try:
        with wired(endpoint=tool.endpoint) as sink, llm_call("outer"):
            done = subprocess.run(
                argv, env=env, cwd=tool.folder, stdin=subprocess.DEVNULL, capture_output=True,
                text=True, timeout=TIMEOUT_S, check=False,
            )  # fmt: skip
    finally:
        llmphases.uninstrument("subprocess")
    (call,) = sink.calls
    return call, done.returncode, done.stdout


def by_command(tool, argv, env, tap):
    """`llmphases run`, whose call comes back out of its traces."""
    file = tool.file()
    ours = [sys.executable, "-m", "llmphases", "run", "--save", str(file)]
    done = subprocess.run(
        [*ours, *(["--tap"] if tap else []), "--", *argv], env=env, cwd=tool.folder,
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert "start-up" in done.stderr or "inference" in done.stderr, done.stderr
    (call,) = OtlpFiles([file]).read().calls
    return call, done.returncode, done.stdout


PLAIN_WAYS = [by_runner, by_hooks, by_command]
TAPPED_WAYS = [by_runner, by_command]
