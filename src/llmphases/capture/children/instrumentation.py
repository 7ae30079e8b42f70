"""The hooks for child processes, switched on and off as one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

from llmphases.capture.current import is_wired
from llmphases.capture.importing import when_imported
from llmphases.capture.late import before_the_first_call

NAME = "subprocess"
UVLOOP = "uvloop"


class _State:
    """A process has one `subprocess`."""

    def __init__(self) -> None:
        self.is_on = False
        self.propagate = True
        self.inherit_otel = True
        self.cancel: list[Callable[[], None]] = []


_state = _State()


def install(*, propagate: bool = True, inherit_otel: bool = True) -> str | None:
    """Time what the program starts by `subprocess` and asyncio; says why not, if it cannot be.

    Only what is started inside a call is timed: so the hooks, which take long to load, come before
    the first call if there was none yet.

    `propagate`: tell children where in the trace they are, by their environment. `inherit_otel`:
    leave our own `OTEL_*` variables in it.
    """
    if os.name != "posix":
        return "needs pipes as POSIX systems have them"
    _state.propagate, _state.inherit_otel = propagate, inherit_otel
    if _state.is_on or is_wired():
        _hook_in()
    elif not _state.cancel:
        _state.cancel.append(before_the_first_call(_hook_in))
    return None


def _hook_in() -> None:
    from llmphases.capture.children.aio_hooks import asyncio_hooks  # loads asyncio
    from llmphases.capture.children.hooks import hooks  # not on every system

    hooks.propagate, hooks.inherit_otel = _state.propagate, _state.inherit_otel
    if not _state.is_on:
        hooks.install()
        asyncio_hooks.install()
        _state.is_on = True
        _state.cancel.append(when_imported(UVLOOP, _imported))
        if UVLOOP in sys.modules:
            _imported(sys.modules[UVLOOP])


def _imported(module: Any) -> None:
    if _state.is_on and hasattr(module, "Loop"):
        from llmphases.capture.children.uvloop_hooks import uvloop_hooks  # as the others

        uvloop_hooks.install(module)


def uninstall() -> None:
    """As it was; children that run are timed to their end."""
    while _state.cancel:
        _state.cancel.pop()()
    if _state.is_on:
        from llmphases.capture.children.aio_hooks import asyncio_hooks  # loaded
        from llmphases.capture.children.hooks import hooks  # loaded
        from llmphases.capture.children.uvloop_hooks import uvloop_hooks  # likewise

        uvloop_hooks.uninstall()
        asyncio_hooks.uninstall()
        hooks.uninstall()
        _state.is_on = False
