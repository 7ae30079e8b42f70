"""Numbers as Grafana writes them: in the unit of their panel."""

from __future__ import annotations

import math

_MINUTE, _HOUR = 60.0, 3600.0
_BYTES = ("B", "KiB", "MiB", "GiB", "TiB")
_KIB = 1024.0


def as_text(value: float, unit: str, decimals: int | None = None) -> str:
    """A number with its unit, short; `unit` is Grafana's name of it."""
    if unit == "s":
        return _duration(value)
    if unit == "percentunit":
        return f"{_short(100 * value, decimals)} %"
    if unit == "bytes":
        return _bytes(value)
    return _short(value, decimals)


def _duration(seconds: float) -> str:
    size = abs(seconds)
    if 0 < size < 1:
        return f"{_short(1000 * seconds)} ms"
    if size < _MINUTE:
        return f"{_short(seconds)} s"
    if size < _HOUR:
        return f"{_short(seconds / _MINUTE)} min"
    return f"{_short(seconds / _HOUR)} h"


def _bytes(value: float) -> str:
    power = 0 if value < 1 else min(int(math.log(value, _KIB)), len(_BYTES) - 1)
    return f"{_short(value / _KIB**power)} {_BYTES[power]}"


def _short(value: float, decimals: int | None = None) -> str:
    """Three digits that count, unless told otherwise."""
    if decimals is not None:
        return f"{value:.{decimals}f}"
    if value == 0:
        return "0"
    places = max(0, 2 - math.floor(math.log10(abs(value)) + 1e-9))
    text = f"{value:.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
