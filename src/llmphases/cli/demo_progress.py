"""How far the demonstration is, on stderr: a live line on a terminal, else a line now and then."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import suppress
from typing import Self, TextIO

from llmphases.clock import SystemClock
from llmphases.reports.layout import BAR_CHARACTERS, bar

_TITLES = 26
_BAR = 20
_LOOK_EVERY_S = 0.1
_USUAL_WIDTH = 80


class Progress:
    """Of one way to do the work; `with` it, and `watch` it from the loop that works."""

    def __init__(self, title: str, units: int) -> None:
        self._title = title
        self._units = units
        self._done = 0
        self._began_ns = SystemClock.now()
        self._stream: TextIO | None = sys.stderr
        self._is_live = self._stream is not None and self._stream.isatty()
        self._unicode = self._is_live and _shows_bars(self._stream)

    def __enter__(self) -> Self:
        """Say that it begins."""
        self._write(f"\r{self._line()}" if self._is_live else f"{self._title} ...\n")
        return self

    def __exit__(self, *_: object) -> None:
        """The last state stays, on a line of its own."""
        self._write(f"\r{self._line()}\n" if self._is_live else f"{self._line()}\n")

    def one_done(self) -> None:
        """One more unit is done."""
        self._done += 1

    async def watch(self) -> None:
        """Keep the line up to date until cancelled."""
        while self._is_live:
            self._write(f"\r{self._line()}")
            await asyncio.sleep(_LOOK_EVERY_S)

    def _line(self) -> str:
        took = f"{(SystemClock.now() - self._began_ns) / 1e9:.1f} s"
        far = f"{self._done} of {self._units} segments"
        if not self._is_live:
            return f"{self._title}: {far}, {took}"
        drawn = bar(self._done / self._units, _BAR, unicode=self._unicode)
        line = f"{self._title:<{_TITLES}}{drawn:<{_BAR}}  {far:>19}{took:>10}"
        return line[: _width(self._stream) - 1]

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # its terminal has gone: say no more
            self._stream = None


def _shows_bars(stream: TextIO | None) -> bool:
    try:
        BAR_CHARACTERS.encode(getattr(stream, "encoding", None) or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _width(stream: TextIO | None) -> int:
    if stream is not None:
        with suppress(OSError, ValueError):  # no real terminal
            return os.get_terminal_size(stream.fileno()).columns or _USUAL_WIDTH
    return _USUAL_WIDTH
