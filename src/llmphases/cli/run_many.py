"""Several runs of a command: one at a time, and then some at a time."""

from __future__ import annotations

import contextvars
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from llmphases import llm_job
from llmphases.analysis.repeats import Measured, Repeats, repeats
from llmphases.calls import Call
from llmphases.capture.children.command import Command
from llmphases.capture.children.live import LiveRun
from llmphases.capture.children.pty_ends import Stdin, terminals_for
from llmphases.capture.children.run import CommandRun
from llmphases.capture.children.sinks import Dropped
from llmphases.cli.run_one import exit_status, pass_on, status_of
from llmphases.cli.run_progress import RunsProgress
from llmphases.cli.run_signals import Signals
from llmphases.clock import SystemClock

_NOT_STARTED = 126


@dataclass(frozen=True, slots=True)
class _Outcome:
    code: int
    call: Call | None


def measured(command: Command, repeat: int, workers: int | None) -> Measured:
    """Run it `repeat` times alone, then as often or more with `workers` at a time.

    Always whole waves: a last one with few in it would not be what is asked about. Raises
    `OSError` if the first cannot be started.
    """
    company = 0 if workers is None else -(-repeat // workers) * workers
    with Signals() as signals, RunsProgress(repeat + company) as progress:
        series = _Series(command, signals, progress)
        alone = series.run(repeat, 1)
        together = None
        if workers is not None and signals.ending is None:
            together = series.run(company, workers)
        ending = signals.ending
    return Measured(
        name=command.what.name,
        exit_code=series.failure or (0 if ending is None else 128 + ending),
        alone=alone,
        together=together,
        is_tapped=command.tap,
    )


class _Series:
    """Runs of one command, until somebody ends us."""

    def __init__(self, command: Command, signals: Signals, progress: RunsProgress) -> None:
        self._command = command
        self._signals = signals
        self._progress = progress
        self._connect = terminals_for(Stdin.NOTHING, signals.opened)
        self._is_first = True
        self.failure = 0
        """The exit status of the first that failed; 0 if none has."""

    def run(self, runs: int, workers: int) -> Repeats:
        """So many runs, so many at a time."""
        how = "alone" if workers == 1 else "parallel"
        outcomes: list[_Outcome] = []
        with llm_job(f"{self._command.what.name}_{how}", workers=workers, progress=False):
            began_ns = SystemClock.now()
            if self._is_first:
                self._is_first = False
                outcomes.append(self._shown())
            with ThreadPoolExecutor(workers, "llmphases-run") as pool:
                futures = [
                    pool.submit(contextvars.copy_context().run, self._timed)
                    for _ in range(runs - len(outcomes))
                ]
                outcomes += [one for f in futures if (one := f.result()) is not None]
            took_ns = SystemClock.now() - began_ns
        for outcome in outcomes:
            self.failure = self.failure or outcome.code
        calls = [outcome.call for outcome in outcomes if outcome.call is not None]
        return repeats(calls, workers=workers, took_ns=took_ns)

    def _shown(self) -> _Outcome:
        live = LiveRun(self._command, self._connect)
        pass_on(live, self._signals)
        return self._told(exit_status(live), live.run.call)

    def _timed(self) -> _Outcome | None:
        if self._signals.ending is not None:
            return None
        sink = Dropped()
        run = CommandRun(self._command, sink, self._connect)
        try:
            run.start()
        except OSError as error:
            run.end(error)
            self._progress.say(f"a run cannot be started: {error.strerror or error}")
            return self._told(_NOT_STARTED, run.call)
        self._signals.started(run)
        try:
            run.complete()
        finally:
            self._signals.ended(run)
            run.end()
        code = status_of(run.code)
        if code:
            self._progress.say(_failure(code, sink.so_far()[1]))
        return self._told(code, run.call)

    def _told(self, code: int, call: Call | None) -> _Outcome:
        self._progress.one_done(call)
        return _Outcome(code, call)


def _failure(code: int, stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"a run failed with exit status {code}" + (f": {last}" if last else "")
