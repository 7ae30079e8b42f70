"""What waits until calls are recorded, so that hooking in loads nothing by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from llmphases.observers import never_raises

Deed = Callable[[], object]

_waiting: list[Deed] = []


def before_the_first_call(do: Deed) -> Callable[[], None]:
    """Have this done as soon as a wiring is in force: before any call's time is stamped.

    Returns:
        What takes it back.
    """
    _waiting.append(do)
    return partial(_no_more, do)


def _no_more(do: Deed) -> None:
    if do in _waiting:
        _waiting.remove(do)


def put_in_force(wiring: Any, slot: Any) -> None:
    """Make it `slot.wiring`, by who holds the lock of that, once what has waited for it is done.

    Until then it is `slot.coming`: another thread that has the wiring may begin a call, to which
    all that waits would matter. None is no wiring to wait for.
    """
    slot.coming = wiring
    try:
        while wiring is not None and _waiting:
            _do(_waiting.pop(0))
    finally:
        slot.wiring, slot.coming = wiring, None


@never_raises  # one that fails does not keep the others from being done
def _do(what: Deed) -> None:
    what()
