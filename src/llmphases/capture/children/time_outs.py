"""Whether a child is ended because it took too long, as far as that can be told.

There is no trace of that in the child's exit: a signal is a signal. But a program ends such a child
where it handles the time-out: so does `subprocess.run`, and so do the examples of its documents.
"""

from __future__ import annotations

import signal
import subprocess
import sys

_ENDING = frozenset(
    {
        signal.SIGABRT, signal.SIGHUP, signal.SIGINT, signal.SIGKILL, signal.SIGQUIT,
        signal.SIGTERM,
    }
)  # fmt: skip


def is_handling_time_out() -> bool:
    """Whether whoever calls this does so while handling a time-out, also in a `finally`."""
    return isinstance(sys.exc_info()[1], (subprocess.TimeoutExpired, TimeoutError))


def is_meant_to_end(number: int) -> bool:
    """Whether this is a signal by which children are ended."""
    return number in _ENDING
