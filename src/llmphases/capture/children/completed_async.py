"""A command that is run to its end while an event loop goes on.

Its bytes are moved by a thread: so they are stamped when they arrive also if the loop is busy, and
the child is waited for by name, whatever loop that is.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

from llmphases.capture.children.command import Command, CommandResult
from llmphases.capture.children.completed import raise_failure, result_of
from llmphases.capture.children.run import CommandRun
from llmphases.capture.children.sinks import Kept


async def complete(command: Command) -> CommandResult[Any]:
    """Start it, wait for it, and end a call of its own whatever happens."""
    kept = Kept()
    run = CommandRun(command, kept)
    try:
        run.start()
        await _over(run)
        raise_failure(run)
    except BaseException as error:
        run.end(error)
        raise
    run.end()
    return result_of(command, run, kept)


async def _over(run: CommandRun) -> None:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()

    def work() -> None:
        try:
            run.complete()
        finally:
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits
                loop.call_soon_threadsafe(over.set)

    thread = threading.Thread(target=work, name="llmphases-command", daemon=True)
    try:
        thread.start()
        await over.wait()
    except asyncio.CancelledError:
        run.stop("cancelled")
        await _gone(run, over)
        raise
    except BaseException:
        run.stop("closed")
        if not thread.ident:
            run.complete()
        raise


async def _gone(run: CommandRun, over: asyncio.Event) -> None:
    """Also whoever cancels twice waits for that, but not for the child's good will."""
    while not over.is_set():
        try:
            await over.wait()
        except asyncio.CancelledError:
            run.kill()
