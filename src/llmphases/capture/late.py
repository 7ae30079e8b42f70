"""What waits until calls are recorded, so that hooking in loads nothing by itself."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

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


def catch_up() -> None:
    """A wiring is in force: do what has waited for it, each once."""
    while _waiting:
        _do(_waiting.pop(0))


@never_raises  # one that fails does not keep the others from being done
def _do(what: Deed) -> None:
    what()
