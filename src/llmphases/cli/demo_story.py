"""The story of the demonstration: the work, the ways to cut it into calls, and each one done."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from llmphases import current_call, fake_cli, llm_job, stream_command_async, traced_llm_call
from llmphases.errors import LlmphasesError

UNITS = 156
WORKERS = 4
STARTUP_S = 8.0
PROMPT_S = 60.0
FIXED_S = STARTUP_S + PROMPT_S
"""What the real tool took before its answer began; how it divides is made up."""
PER_UNIT_S = 1.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to cut the work into calls."""

    name: str
    """Of its calls in the trace."""
    title: str
    chunks: int
    real_s: int
    """How long it took in the real case."""

    @property
    def workers(self) -> int:
        """How many calls run at once."""
        return min(self.chunks, WORKERS)

    @property
    def waves(self) -> int:
        """How many calls each worker makes."""
        return -(-self.chunks // self.workers)

    @property
    def expected_s(self) -> float:
        """How long it takes at the speed of the real case, if nothing is in the way."""
        return self.waves * (FIXED_S + PER_UNIT_S * UNITS / self.chunks)

    def prompts(self) -> list[list[str]]:
        """What each call is asked: a line for each segment."""
        lines = [f"segment {number}" for number in range(1, UNITS + 1)]
        size = UNITS // self.chunks
        return [lines[first : first + size] for first in range(0, UNITS, size)]


ONE_CALL = Way(name="one_call", title="one call for everything", chunks=1, real_s=364)
MANY_CALLS = Way(name="many_calls", title="12 calls, 4 at a time", chunks=12, real_s=269)
ONE_WAVE = Way(name="one_wave", title="4 calls, all at once", chunks=WORKERS, real_s=173)
WAYS = (ONE_CALL, MANY_CALLS, ONE_WAVE)


class ToolError(LlmphasesError, RuntimeError):
    """The stand-in tool could not do its work."""


class InterruptedToolError(ToolError):
    """Somebody pressed Control-C, and the tool has heard of it before us."""


async def play(way: Way, scale: float, one_done: Callable[[], object]) -> None:
    """Do all the work in this way; `one_done` hears of each segment.

    Cancelled, it ends the children first. Raises `ToolError` if one of them fails, and
    `InterruptedToolError` if that is no fault of its own.
    """

    @traced_llm_call(name=way.name, model=fake_cli.MODEL)
    async def place_boxes(segments: list[str]) -> str:
        current_call().units(len(segments))
        answer = Answer()
        async with stream_command_async(
            command(scale), input="\n".join(segments), format="claude-stream-json", check=True
        ) as output:
            async for piece in output:
                for _ in range(answer.add(piece)):
                    one_done()
        return answer.text

    try:
        async with llm_job(f"{way.name}_job", workers=way.workers, progress=False) as job:
            await job.map(place_boxes, way.prompts())
    except subprocess.CalledProcessError as error:
        if error.returncode == -signal.SIGINT or _is_being_cancelled():
            raise InterruptedToolError("the stand-in tool was interrupted") from error
        last = (error.stderr or "").strip().rpartition("\n")[2] or "it does not say why"
        raise ToolError(
            f"the stand-in tool has failed (exit code {error.returncode}): {last}"
        ) from error
    except OSError as error:
        raise ToolError(f"cannot start the stand-in tool: {error}") from error


def _is_being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def command(scale: float) -> list[str]:
    """The stand-in tool, so many times as fast as the real one."""
    return [
        # Without looking for packages: how long that takes is not what this is about.
        sys.executable, "-I", "-S", fake_cli.__file__,
        "--output-format", fake_cli.STREAM_JSON,
        "--startup-s", f"{STARTUP_S / scale:.6f}",
        "--prompt-s", f"{PROMPT_S / scale:.6f}",
        "--per-line-s", f"{PER_UNIT_S / scale:.6f}",
    ]  # fmt: skip


class Answer:
    """The text of an answer, out of the events that a tool prints."""

    def __init__(self) -> None:
        self.text = ""
        self._unread = ""

    def add(self, output: str) -> int:
        """More output, wherever it breaks off; gives how many more lines are complete."""
        *lines, self._unread = (self._unread + output).split("\n")
        new = "".join(piece for line in lines for piece in _texts(line))
        self.text += new
        return new.count("\n")


def _texts(line: str) -> Iterator[str]:
    event = json.loads(line).get("event", {})
    yield event.get("delta", {}).get("text", "")
