"""Run a command as a call of its own, or as a part of the traced call that is open."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from llmphases.capture.children.command import (
    Command,
    CommandOptions,
    CommandResult,
    Word,
    command_of,
)

if TYPE_CHECKING:
    from llmphases.capture.children.streaming import AsyncCommandStream, CommandStream


@overload
def run_command(
    argv: Sequence[Word], *, text: Literal[True] = True, **options: Unpack[CommandOptions]
) -> CommandResult[str]: ...
@overload
def run_command(
    argv: Sequence[Word], *, text: Literal[False], **options: Unpack[CommandOptions]
) -> CommandResult[bytes]: ...
def run_command(
    argv: Sequence[Word], *, text: bool = True, **options: Unpack[CommandOptions]
) -> CommandResult[Any]:
    """Run a command-line tool to its end, and see where its time goes.

    Inside a traced call its phases are that call's; outside it is a call of its own, named after
    the program. Its stdin is closed unless `input` is given.

    Args:
        argv: the program and its arguments; there is no shell.
        text: False gives stdout and stderr as bytes.
        **options: see `CommandOptions`.

    Returns:
        Output, exit code, and the `Call` if it was one of its own.

    Raises:
        ArgumentError: for options that cannot be.
        FileNotFoundError: and whatever else `subprocess` raises for what cannot be started.
        subprocess.TimeoutExpired: after `timeout` seconds, with the output so far.
        subprocess.CalledProcessError: for an exit code that is not 0, with `check=True`.
    """
    from llmphases.capture.children.completed import complete  # noqa: PLC0415  # loads subprocess

    return complete(command_of("run_command", argv, options, text=text))


@overload
async def run_command_async(
    argv: Sequence[Word], *, text: Literal[True] = True, **options: Unpack[CommandOptions]
) -> CommandResult[str]: ...
@overload
async def run_command_async(
    argv: Sequence[Word], *, text: Literal[False], **options: Unpack[CommandOptions]
) -> CommandResult[bytes]: ...
async def run_command_async(
    argv: Sequence[Word], *, text: bool = True, **options: Unpack[CommandOptions]
) -> CommandResult[Any]:
    """`run_command` for asyncio. Cancelling it ends the child before `CancelledError` goes on."""
    from llmphases.capture.children.completed_async import complete  # noqa: PLC0415  # loads asyncio

    return await complete(command_of("run_command_async", argv, options, text=text))


@overload
def stream_command(
    argv: Sequence[Word], *, text: Literal[True] = True, **options: Unpack[CommandOptions]
) -> CommandStream[str]: ...
@overload
def stream_command(
    argv: Sequence[Word], *, text: Literal[False], **options: Unpack[CommandOptions]
) -> CommandStream[bytes]: ...
def stream_command(
    argv: Sequence[Word], *, text: bool = True, **options: Unpack[CommandOptions]
) -> CommandStream[Any]:
    """Run a command-line tool and iterate over its stdout as it comes.

    It starts with the first `next`, in the call that is open then. Times are taken when bytes
    arrive, however slow the reader is; one that is more than 16 MiB behind makes the child wait.
    `close()`, leaving `with`, or dropping the iterator ends the child. Its `returncode`, `stderr`
    (the end of it) and `call` are known at the end.

    Takes and raises what `run_command` does, `TimeoutExpired` and `CalledProcessError` after the
    last piece.
    """
    return _sync_stream(command_of("stream_command", argv, options, text=text))


@overload
def stream_command_async(
    argv: Sequence[Word], *, text: Literal[True] = True, **options: Unpack[CommandOptions]
) -> AsyncCommandStream[str]: ...
@overload
def stream_command_async(
    argv: Sequence[Word], *, text: Literal[False], **options: Unpack[CommandOptions]
) -> AsyncCommandStream[bytes]: ...
def stream_command_async(
    argv: Sequence[Word], *, text: bool = True, **options: Unpack[CommandOptions]
) -> AsyncCommandStream[Any]:
    """`stream_command` for `async for`; `aclose()`, `async with` or cancelling ends the child."""
    return _async_stream(command_of("stream_command_async", argv, options, text=text))


def _sync_stream(command: Command) -> CommandStream[Any]:
    from llmphases.capture.children.streaming import CommandStream  # noqa: PLC0415  # as above

    return CommandStream(command)


def _async_stream(command: Command) -> AsyncCommandStream[Any]:
    from llmphases.capture.children.streaming import AsyncCommandStream  # noqa: PLC0415  # as above

    return AsyncCommandStream(command)
