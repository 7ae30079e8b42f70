"""Where a command that we run ourselves is in the trace: part of a call, or one of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llmphases.calls import Call, Ended, ProcessUse
from llmphases.capture.children.command import Command
from llmphases.capture.children.formats import CommandFormat
from llmphases.capture.children.observation import ChildObservation
from llmphases.capture.children.tap.moments import TapMoments
from llmphases.capture.current import (
    begin_call,
    block_of,
    end_call,
    frame_here,
    is_off_here,
    recorder_of,
    wired,
)
from llmphases.clock import SystemClock
from llmphases.observers import never_raises
from llmphases.recorder import CallRecorder

_NOT_A_FAILURE = ("closed", "cancelled", "interrupted")


class CommandTrace:
    """From before the spawn to after the exit. Begun in the context that runs the command."""

    def __init__(self, command: Command, tapped: TapMoments | None = None) -> None:
        self._own: CallRecorder | None = None
        self._observation: ChildObservation | None = None
        self._context: Any = None
        self.now: Callable[[], int] = SystemClock.now
        self.is_on = False
        """Whether anything is traced here."""
        if not is_off_here():
            form: CommandFormat = wired().format_for(command.argv, command.format)
            self.is_on = self._begin(command, form, tapped) is True

    @never_raises
    def _begin(self, command: Command, form: CommandFormat, tapped: TapMoments | None) -> bool:
        wiring = wired()
        self.now = wiring.now
        frame = frame_here()
        call = recorder_of(frame)
        self._context = wiring.carrier.variable.get()
        if call is None:
            call = self._own = begin_call(command.what)
            if call is not None:
                self._context = call.context
        elif block_of(frame) is not None:
            call = None  # the block owns what happens in it
        if call is not None:
            self._observation = ChildObservation(call, form, wiring.now(), self._context, tapped)
            self._context = self._observation.context
        return True

    def headers(self) -> dict[str, str]:
        """What tells the child where it is in the trace."""
        return (self._injected() if self.is_on else None) or {}

    @never_raises
    def _injected(self) -> dict[str, str]:
        return wired().carrier.inject(self._context)

    def output(self, stream: int, data: bytes, at_ns: int) -> None:
        """These bytes have arrived."""
        if self._observation is not None:
            self._observation.output(stream, data, at_ns)

    def closed(self, stream: int) -> None:
        """No more will come of a stream."""
        if self._observation is not None:
            self._observation.closed(stream)

    def not_spawned(self) -> None:
        """There is no child."""
        if self._observation is not None:
            self._observation.not_spawned()

    def exited(self, at_ns: int | None, code: int, use: ProcessUse | None, why: str | None) -> None:
        """The child is gone; `why` says why we ended it, if we did."""
        if self._observation is None:
            return
        error_type = why if why != "closed" else None
        self._observation.exited(at_ns, code)
        self._observation.used(use, error_type, meant=why in _NOT_A_FAILURE)

    def end(
        self, error: BaseException | None = None, ended: Ended | None = None, *,
        meant: bool = False,
    ) -> None:  # fmt: skip
        """All is over: a call of its own ends. `meant`: that the child failed is no failure."""
        if self._own is None:
            return
        told = self._observation.error_type if self._observation and not meant else None
        end_call(self._own, error, ended=ended, error_type=told)

    @property
    def call(self) -> Call | None:
        """The call of its own, once it has ended."""
        return self._own.record if self._own is not None else None
