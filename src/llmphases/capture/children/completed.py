"""A command that is run to its end by the thread that asks for it."""

from __future__ import annotations

from typing import Any

from llmphases.capture.children.command import Command, CommandResult
from llmphases.capture.children.run import CommandRun
from llmphases.capture.children.sinks import Kept


def complete(command: Command) -> CommandResult[Any]:
    """Start it, wait for it, and end a call of its own whatever happens."""
    kept = Kept()
    run = CommandRun(command, kept)
    try:
        run.start()
        run.complete()
        raise_failure(run)
    except BaseException as error:
        run.end(error)
        raise
    run.end()
    return result_of(command, run, kept)


def raise_failure(run: CommandRun) -> None:
    """Raise what `subprocess` would raise of a run that is over."""
    failure = run.failure()
    if failure is not None:
        raise failure


def result_of(command: Command, run: CommandRun, kept: Kept) -> CommandResult[Any]:
    """What came of a run that is over."""
    stdout, stderr = kept.so_far()
    assert run.code is not None
    return CommandResult(
        stdout=command.decoded(stdout),
        stderr=command.decoded(stderr),
        returncode=run.code,
        call=run.call,
        process=run.use,
        tap=run.tap_view,
    )
