"""In the place of a method until somebody looks at it: what it is wrapped with is loaded then."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

_lock = threading.RLock()


class LateMethod:
    """What `make` gives, made when this is first looked at, by whatever way.

    It stands in the dictionary of a class, as a function would, and gives itself out as what it
    becomes: signature, kind, name. `make` may put its result in the place of this; where it gives
    None, this is `original`.
    """

    def __init__(self, original: Any, make: Callable[[], Any]) -> None:
        held = object.__getattribute__(self, "__dict__")
        held.update(original=original, make=make, made=None)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return settle(self).__get__(instance, owner)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return settle(self)(*args, **kwargs)

    def __getattribute__(self, name: str) -> Any:
        return getattr(settle(self), name)


def settle(late: LateMethod) -> Any:
    """What a late method stands for."""
    held = object.__getattribute__(late, "__dict__")
    if held["made"] is None:
        with _lock:  # two threads are given the same
            if held["made"] is None:
                held["made"] = held["make"]() or held["original"]
    return held["made"]


def _renew_lock() -> None:
    """This is a forked child: a thread that held it is the parent's."""
    global _lock  # noqa: PLW0603  # one for all, as each is held only once
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)
