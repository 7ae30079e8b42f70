"""Asks the stand-in server by a real SDK, hooked into, and keeps what was recorded of it.

Run as a program, `wire_asking.py URL`, it does so for lines on its stdin: for SDKs that take
seconds to import, and leave threads behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from lab.wire_clients import PAUSE_S
from lab.wire_ways import WAYS, Way
from llmphases import llm_call
from llmphases.adapters.registry import instrument, uninstrument
from llmphases.calls import Call, Stretch
from llmphases.clock import sleep
from llmphases.phases import Phase
from llmphases.testing import recorded

HTTP = ("httpx", "httpx2", "aiohttp", "urllib3")
OFFLINE = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
"""Else LiteLLM fetches a list of prices when it is imported."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A call, and when it began on the clock of the whole machine."""

    call: Call
    start_ns: int

    def at_ns(self, from_start_ns: int | None) -> int:
        """A moment of the call on that clock."""
        assert from_start_ns is not None
        return self.start_ns + from_start_ns

    def of(self, phase: Phase) -> list[Stretch]:
        """Its stretches of a phase, in order."""
        return [stretch for stretch in self.call.stretches if stretch.phase is phase]

    def sent_ns(self, stretch: Stretch) -> int:
        """When the HTTP client began to send what was asked in a stretch, on that clock."""
        began = [
            detail.start_ns
            for detail in self.call.details
            if detail.name in {"connect", "send"}
            and stretch.start_ns <= detail.start_ns < stretch.end_ns
        ]
        return self.start_ns + min(began)


class Session:
    """A client in use, its SDK hooked into, and the HTTP clients below it.

    Of what is asked, `what` is `stream`, `whole`, or `again`: the program asks a second time, in
    the same call, if the first one fails.
    """

    def __init__(self, url: str, way: Way, *, retries: int = 0) -> None:
        self._way = way
        self._url = url
        self._retries = retries
        self._ends = contextlib.ExitStack()
        self._runner: asyncio.Runner | None = None
        self._client: Any = None

    def __enter__(self) -> Self:
        way = self._way
        names = (*way.hooks, *HTTP)
        hooked = instrument(*names).hooked
        self._ends.callback(uninstrument, *names)
        assert set(way.hooks) <= set(hooked)
        made = way.client(self._url, self._retries)
        if way.is_async:
            self._runner = self._ends.enter_context(asyncio.Runner())
            if hasattr(made, "__aexit__"):
                self._client = self._runner.run(made.__aenter__())
                self._ends.callback(lambda: self._runner.run(made.__aexit__(None, None, None)))
            else:
                self._client = made
        else:
            self._client = self._ends.enter_context(_entered(made, "__enter__"))
        return self

    def __exit__(self, *exc: object) -> None:
        self._ends.close()

    def ask(self, model: str, what: str) -> Recorded:
        """What is recorded of one use."""
        with recorded() as heard:
            if self._runner is not None:
                self._runner.run(self._used_async(model, what))
            else:
                self._used(model, what)
        (call,), (opened,) = heard.calls, heard.open_calls
        return Recorded(call, opened.start_ns)

    def _used(self, model: str, what: str) -> None:
        if what == "whole":
            self._way.whole(self._client, model)
            return
        with _around(what):
            for is_last in _attempts(what):
                try:
                    _read(self._way.stream(self._client, model))
                except Exception:
                    if is_last:
                        raise
                    sleep(PAUSE_S)
                else:
                    return

    async def _used_async(self, model: str, what: str) -> None:
        if what == "whole":
            await self._way.whole(self._client, model)
            return
        with _around(what):
            for is_last in _attempts(what):
                try:
                    await _read_async(self._way.stream(self._client, model))
                except Exception:
                    if is_last:
                        raise
                    await asyncio.sleep(PAUSE_S)
                else:
                    return


def _around(what: str) -> Any:
    return llm_call("mine") if what == "again" else contextlib.nullcontext()


def _attempts(what: str) -> tuple[bool, ...]:
    """Of each, whether it is the last one."""
    return (False, True) if what == "again" else (True,)


def _read(opened: Any) -> None:
    with _entered(opened, "__enter__") as chunks:
        for _ in chunks:
            pass


async def _read_async(opened: Any) -> None:
    if inspect.isawaitable(opened) and not hasattr(opened, "__aiter__"):
        opened = await opened
    async with _entered(opened, "__aenter__") as chunks:
        async for _ in chunks:
            pass


def _entered(given: Any, enter: str) -> Any:
    return given if hasattr(given, enter) else contextlib.nullcontext(given)


class Apart:
    """A process that asks; it imports what it needs, once."""

    def __init__(self, url: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, __file__, url],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # complaints of SDKs that leave clients open
            text=True,
            env=os.environ | OFFLINE,
        )

    def ask(self, way: Way, retries: int, model: str, what: str) -> Recorded:
        """As `Session.ask`, over there."""
        asked = {"name": way.name, "retries": retries, "model": model, "what": what}
        self._process.stdin.write(json.dumps(asked) + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("RECORDED "):
                found = json.loads(line.removeprefix("RECORDED "))
                assert "error" not in found, found["error"]
                return Recorded(Call.from_json(found["call"]), found["start_ns"])
        raise AssertionError("the other process has ended")

    def close(self) -> None:
        """End it."""
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()


def _answers(url: str) -> Iterator[dict[str, Any]]:
    ways = {way.name: way for way in WAYS}
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            with Session(url, ways[asked["name"]], retries=asked["retries"]) as session:
                found = session.ask(asked["model"], asked["what"])
        except Exception:  # noqa: BLE001  # the test shall say it
            yield {"error": traceback.format_exc()}
        else:
            yield {"call": found.call.to_json(), "start_ns": found.start_ns}


if __name__ == "__main__":
    for answer in _answers(sys.argv[1]):
        print("RECORDED", json.dumps(answer), flush=True)
    os._exit(0)  # the threads of some would be waited for
