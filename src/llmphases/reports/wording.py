"""Numbers and names as people like to read them."""

from __future__ import annotations

from math import floor, log10

_DIGITS = 3
_WORTH_DIGITS = 1e-6
_MILLISECONDS_BELOW = 1.0
_MINUTES_FROM = 120.0
_HOUR = 3600
_LEAST_PERCENT = 0.1
_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"), (1, "B"))
_WHOLE = 0.9995
"""From here on three digits show one whole unit."""


def duration(nanoseconds: float) -> str:
    """Three digits: `312 ms`, `1.90 s`, `68.0 s`; from two minutes on `4:29 min`, `1:02:05 h`."""
    seconds = _rounded(nanoseconds / 1e9)
    if seconds <= 0:
        return "0 s"
    if seconds < _WORTH_DIGITS:
        return "<0.001 ms"
    if seconds < _MILLISECONDS_BELOW:
        return f"{_digits(seconds * 1000)} ms"
    if seconds < _MINUTES_FROM:
        return f"{_digits(seconds)} s"
    minutes, rest = divmod(round(nanoseconds / 1e9), 60)
    if minutes * 60 < _HOUR:
        return f"{minutes}:{rest:02} min"
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02} h"


def _rounded(value: float) -> float:
    """To three digits: rounding up may reach the next unit, 999.6 ms are 1.00 s."""
    if value <= 0:
        return 0.0
    return round(value, _DIGITS - 1 - floor(log10(value)))


def _digits(value: float) -> str:
    # Rounded again: a factor of 1000 leaves a trace in the last binary digit.
    value = _rounded(value)
    return f"{value:.{max(0, _DIGITS - 1 - floor(log10(value)))}f}"


def rate(per_second: float) -> str:
    """Three digits, as a rate of tokens."""
    return f"{_digits(per_second)} tokens/s" if per_second > 0 else "0 tokens/s"


def size(number: float) -> str:
    """Three digits: `143 MiB`, `1.90 GiB`."""
    unit, name = next((step for step in _SIZES if number >= step[0] * _WHOLE), _SIZES[-1])
    return f"{_digits(number / unit)} {name}" if number > 0 else "0 B"


def percent(share: float) -> str:
    """`97 %`; one digit more near 0 and 100, so that neither is claimed wrongly."""
    value = share * 100
    if 0 < value < _LEAST_PERCENT:
        return f"<{_LEAST_PERCENT} %"
    if 100 - _LEAST_PERCENT < value < 100:  # noqa: PLR2004 - the end of a percentage
        return f">{100 - _LEAST_PERCENT} %"
    if 0 < value < 1 or 99 < value < 100:  # noqa: PLR2004 - the two ends of a percentage
        return f"{value:.1f} %"
    return f"{value:.0f} %"


def times(factor: float) -> str:
    """`1.36`, `12.3`, `150`: three digits, two of them after the point at most."""
    return f"{factor:.{max(0, _DIGITS - len(str(int(factor))))}f}"


def count(number: int, one: str, many: str | None = None) -> str:
    """`1 call`, `24 calls`, `no calls`."""
    if number == 0:
        return f"no {many or one + 's'}"
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def printable(name: str) -> str:
    """A name out of a file, with nothing in it that a terminal would obey."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in name)
