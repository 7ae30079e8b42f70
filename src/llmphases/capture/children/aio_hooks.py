"""Hooks in asyncio's subprocess transports, where their loop reads the pipes of a child."""

from __future__ import annotations

import functools
from asyncio import base_subprocess
from typing import Any

from llmphases.capture.children.formats import STDERR, STDOUT
from llmphases.capture.children.hooked_child import HookedChild, HookedStream
from llmphases.capture.children.hooks import hooks
from llmphases.capture.children.loop_waits import LoopWaits, waits_of
from llmphases.observers import never_raises

_KEPT = "_llmphases_reading"
_Transport: Any = base_subprocess.BaseSubprocessTransport
_HOOKED = ("__init__", "_pipe_data_received", "_pipe_connection_lost", "send_signal")
_LONGEST_READ = 256 * 2**10
"""What a transport asks of a pipe at once."""


class _Reading:
    """What one transport reads of a child."""

    def __init__(self, child: HookedChild, waits: LoopWaits | None, numbers: list[int]) -> None:
        self.signalled = child.signalled
        self._waits = waits
        self._streams: dict[int, HookedStream] = {n: child.stream(n) for n in numbers}
        if waits is not None:
            waits.begin()
            child.when_over(waits.end)

    @never_raises
    def read(self, number: int, data: bytes) -> None:
        stream = self._streams.get(number)
        if stream is not None:
            woken_ns = self._waits.woken_ns if self._waits is not None else None
            drained = len(data) < _LONGEST_READ
            stream.read(data, waited=woken_ns is not None, is_drained=drained, at_ns=woken_ns)

    def ended(self, number: int) -> None:
        stream = self._streams.get(number)
        if stream is not None:
            stream.ended()


class AsyncioHooks:
    """Installed together with those of `subprocess`."""

    def __init__(self) -> None:
        self._former: dict[str, Any] = {}
        self._hooked: dict[str, Any] = {}

    def install(self) -> None:
        """From now on."""
        self._former = {name: getattr(_Transport, name) for name in _HOOKED}
        self._hooked = {
            "__init__": _hooked_init(self._former["__init__"]),
            "_pipe_data_received": _hooked_data(self._former["_pipe_data_received"]),
            "_pipe_connection_lost": _hooked_end(self._former["_pipe_connection_lost"]),
            "send_signal": _hooked_sending(self._former["send_signal"]),
        }
        for name, hook in self._hooked.items():
            setattr(_Transport, name, hook)

    def uninstall(self) -> None:
        """No more; what somebody else has put around a hook stays."""
        for name, hook in self._hooked.items():
            if getattr(_Transport, name) is hook:
                setattr(_Transport, name, self._former[name])


def _hooked_init(init: Any) -> Any:
    @functools.wraps(init)
    def started(transport: Any, /, *args: Any, **kwargs: Any) -> None:
        child = hooks.hand_over(lambda: init(transport, *args, **kwargs))
        if child is not None:
            _begin(transport, child)

    return started


@never_raises
def _begin(transport: Any, child: HookedChild) -> None:
    pipes = transport._pipes  # noqa: SLF001  # which of them are pipes is told nowhere else
    numbers = [number for number in (STDOUT, STDERR) if number in pipes]
    waits = waits_of(transport._loop, child.now)  # noqa: SLF001  # likewise
    setattr(transport, _KEPT, _Reading(child, waits, numbers))


def _hooked_data(received: Any) -> Any:
    @functools.wraps(received)
    def _pipe_data_received(transport: Any, fd: int, data: bytes) -> Any:
        reading = getattr(transport, _KEPT, None)
        if reading is not None:
            reading.read(fd, data)
        return received(transport, fd, data)

    return _pipe_data_received


def _hooked_end(lost: Any) -> Any:
    @functools.wraps(lost)
    def _pipe_connection_lost(transport: Any, fd: int, exc: Any) -> Any:
        reading = getattr(transport, _KEPT, None)
        if reading is not None:
            reading.ended(fd)
        return lost(transport, fd, exc)

    return _pipe_connection_lost


def _hooked_sending(send: Any) -> Any:
    """From Python 3.13.1 on it is no signal of `Popen`."""

    @functools.wraps(send)
    def send_signal(transport: Any, signal: int) -> Any:
        reading = getattr(transport, _KEPT, None)
        if reading is not None:
            reading.signalled(signal)
        return send(transport, signal)

    return send_signal


asyncio_hooks = AsyncioHooks()
"""Those of this process."""
