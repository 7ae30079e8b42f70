"""Numbers that a program printed: only those that an exporter can write count."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from llmphases.calls import Scalar

_LARGEST = 2**63 - 1
_MILLISECOND = 1_000_000


def number(value: Any) -> int | float | None:
    """A finite number of at most 64 bits; None for all else, True and "12" included."""
    if type(value) is float:
        return value if isfinite(value) else None
    return value if type(value) is int and abs(value) <= _LARGEST else None


def numbers_in(said: Mapping[str, Any], *names: str) -> dict[str, Scalar]:
    """Those of the named fields that hold a number, under their own names."""
    return {name: value for name in names if (value := number(said.get(name))) is not None}


def ns_of_ms(value: Any) -> int | None:
    """A number of milliseconds in nanoseconds; None if it is none, or negative."""
    found = number(value)
    if found is None or not 0 <= found * _MILLISECOND <= _LARGEST:
        return None
    return round(found * _MILLISECOND)
