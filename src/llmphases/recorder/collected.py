"""What the garbage collector finds is dealt with at the next safe moment.

The collector may run in the middle of anything: while this very thread holds a lock of a metric,
of an exporter or of a logging handler. A stream or generator that is dropped there would end its
call there, and wait for that lock for ever. So its moments, which have their time stamps, are kept
until a call begins or ends, or the program does.
"""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Callable
from threading import get_ident
from typing import Any, Final

from llmphases.observers import never_raises

_kept: Final[deque[tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]]] = deque()
_collecting: int | None = None


def _watch(phase: str, info: dict[str, int]) -> None:
    global _collecting  # noqa: PLW0603  # the collector runs in one thread at a time
    _collecting = get_ident() if phase == "start" else None


gc.callbacks.append(_watch)


def is_collecting() -> bool:
    """Whether this code runs because the collector has found something."""
    return _collecting is not None and _collecting == get_ident()


def later(act: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Keep a call of `act` for the next safe moment."""
    _kept.append((act, args, kwargs))


def forget() -> None:
    """The process was forked: what was kept is the parent's to do."""
    global _collecting  # noqa: PLW0603  # no other thread is left
    _collecting = None
    _kept.clear()


def settle() -> None:
    """Now is safe: do what was kept, in order."""
    while _kept:
        try:
            act, args, kwargs = _kept.popleft()
        except IndexError:  # another thread was faster
            return
        never_raises(act)(*args, **kwargs)
