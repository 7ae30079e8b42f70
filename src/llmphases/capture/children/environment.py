"""The environment of a child: a copy of the one it would have had, and where it is in the trace."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

_NAMES = ("TRACEPARENT", "TRACESTATE", "BAGGAGE")
_OTEL = "OTEL_"

Environment = Mapping[str, str] | Mapping[bytes, bytes]


def without_otel(environment: Mapping[str, str]) -> dict[str, str]:
    """A copy that lacks the settings of OpenTelemetry."""
    return {name: value for name, value in environment.items() if not name.startswith(_OTEL)}


def child_environment(
    given: Environment | None, headers: Mapping[str, str], *, inherit_otel: bool = True
) -> dict[Any, Any]:
    """What a child is to be given as `env`: `given`, else a copy of our own.

    `headers` say where in the trace it is (`traceparent` and the like): they go in under names in
    capitals, as command-line tools read them, in place of any that are older. Without them nothing
    is replaced. `inherit_otel=False` leaves our own `OTEL_*` settings out; those in `given` stay.
    """
    if given is None:
        made = dict(os.environ) if inherit_otel else without_otel(os.environ)
    else:
        made = dict(given)  # type: ignore[arg-type]  # whatever the keys are, they stay
    named = {name.upper().replace("-", "_"): value for name, value in headers.items()}
    if _NAMES[0] in named:
        named[_NAMES[0]] = _of_level_1(named[_NAMES[0]])
        for name in _NAMES:
            made.pop(name, None)
            made.pop(os.fsencode(name), None)  # type: ignore[call-overload]  # of `os.environb`
    made.update(named)
    return made


def _of_level_1(traceparent: str) -> str:
    """The same with no flag but whether it is sampled.

    Level 2 of the standard has one more, that the trace's id is random, which OpenTelemetry's SDK
    now sets; Codex (0.171), and whoever else reads it by OpenTelemetry for Rust, then takes none.
    """
    begin, dash, flags = traceparent.rpartition("-")
    try:
        return f"{begin}{dash}{int(flags, 16) & 1:02x}"
    except ValueError:
        return traceparent
