"""The hooks for child processes, switched on and off as one."""

from __future__ import annotations

import os
import sys
from typing import Any

from llmphases.capture.current import wired

NAME = "subprocess"
UVLOOP = "uvloop"

_is_on = False
_waits_for_uvloop = False


def install(*, propagate: bool = True, inherit_otel: bool = True) -> str | None:
    """Time what the program starts by `subprocess` and asyncio; says why not, if it cannot be.

    `propagate`: tell children where in the trace they are, by their environment. `inherit_otel`:
    leave our own `OTEL_*` variables in it.
    """
    global _is_on  # noqa: PLW0603  # a process has one `subprocess`
    if os.name != "posix":
        return "needs pipes as POSIX systems have them"
    from llmphases.capture.children.aio_hooks import asyncio_hooks  # loads asyncio
    from llmphases.capture.children.hooks import hooks  # not on every system

    wired()  # now, and not within the first child that is started
    hooks.propagate, hooks.inherit_otel = propagate, inherit_otel
    if not _is_on:
        hooks.install()
        asyncio_hooks.install()
        _is_on = True
        _hook_uvloop()
    return None


def _hook_uvloop() -> None:
    """Now if it is there, else as soon as the program imports it."""
    global _waits_for_uvloop  # noqa: PLW0603  # as above
    module = sys.modules.get(UVLOOP)
    if module is not None:
        _imported(module)
    elif not _waits_for_uvloop:
        import wrapt  # loaded when it is needed

        wrapt.register_post_import_hook(_imported, UVLOOP)
        _waits_for_uvloop = True


def _imported(module: Any) -> None:
    if _is_on and hasattr(module, "Loop"):
        from llmphases.capture.children.uvloop_hooks import uvloop_hooks  # as the others

        uvloop_hooks.install(module)


def uninstall() -> None:
    """As it was; children that run are timed to their end."""
    global _is_on  # noqa: PLW0603  # as above
    if _is_on:
        from llmphases.capture.children.aio_hooks import asyncio_hooks  # loaded
        from llmphases.capture.children.hooks import hooks  # loaded
        from llmphases.capture.children.uvloop_hooks import uvloop_hooks  # likewise

        uvloop_hooks.uninstall()
        asyncio_hooks.uninstall()
        hooks.uninstall()
        _is_on = False
