"""A spawn by the program, just before it happens: whether it is traced, and as what."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmphases.capture.children.environment import child_environment, without_otel
from llmphases.capture.children.hooked_child import HookedChild
from llmphases.capture.children.observation import ChildObservation
from llmphases.capture.children.own_environment import inherited
from llmphases.capture.current import block_of, frame_here, recorder_of, wired
from llmphases.observers import never_raises

_SHELL = "sh"


@dataclass(frozen=True, slots=True)
class Program:
    """What is to be started, as far as the arguments of `Popen` say."""

    command: Any
    """Words, or a line for the shell (text); for the choice of a format."""
    executable: str | None


def program_of(args: Any, *, shell: bool, executable: Any = None) -> Program:
    """By the first arguments of `Popen`. An iterator is left alone: it can be read once."""
    words = [args] if isinstance(args, (str, bytes, os.PathLike)) else args
    if not isinstance(words, (list, tuple)) or not words:
        return Program([], _name(executable))
    if shell:
        line = words[0]
        is_line = isinstance(line, (str, bytes))
        return Program(line if is_line else [line], _name(executable) or _SHELL)
    return Program(words, _name(executable) or _name(words[0]))


def _name(program: Any) -> str | None:
    if not isinstance(program, (str, bytes, os.PathLike)):
        return None
    text = os.fsdecode(program)
    return Path(text).name or text


class Spawn:
    """One spawn inside a traced call."""

    def __init__(self, observation: ChildObservation, program: Program, at_ns: int) -> None:
        self._observation = observation
        self.program = program
        self.child = HookedChild(observation, at_ns, wired().now)

    def environment(
        self, given: Mapping[Any, Any] | None, *, tell: bool = True, inherit_otel: bool = True
    ) -> Mapping[Any, Any] | None:
        """What the child is to get: `given`, and where in the trace it is (`tell`).

        `inherit_otel=False`: without those of our `OTEL_*` variables that nobody has given it.
        """
        headers = (self._headers() if tell else None) or {}
        return self._with(headers, given, inherit_otel=inherit_otel) or given

    @never_raises
    def _headers(self) -> dict[str, str]:
        return wired().carrier.inject(self._observation.context)

    @never_raises
    def _with(
        self, headers: dict[str, str], given: Mapping[Any, Any] | None, *, inherit_otel: bool
    ) -> dict[Any, Any] | None:
        if not headers and (inherit_otel or given is not None):
            return None  # as it is
        if given is None:
            given = inherited() if inherit_otel else without_otel(inherited())
        return child_environment(given, headers)


@never_raises
def spawn_here(describe: Callable[[], Program]) -> Spawn | None:
    """A spawn in this context; None outside a traced call, and where something else owns it.

    That is a block, or a method of an SDK: OpenAI's runs `uname`, to tell its server about it.
    """
    frame = frame_here()
    call = recorder_of(frame)
    if frame is None or call is None or block_of(frame) is not None:
        return None
    if frame.exchange is not None and not frame.exchange.is_one:
        return None
    program = describe()
    wiring = wired()
    form = wiring.format_for(program.command)
    at_ns = wiring.now()
    observation = ChildObservation(call, form, at_ns, wiring.carrier.variable.get())
    spawn = Spawn(observation, program, at_ns)
    conclude = spawn.child.conclude
    call.before_end(conclude)
    spawn.child.when_over(functools.partial(call.not_before_end, conclude))
    return spawn
