"""What a command is run in: how wide, how colourful, and what its characters are."""

from __future__ import annotations

import os
import shutil
import sys
from contextlib import suppress
from typing import TextIO

from llmphases.cli.exits import OutputError
from llmphases.reports.contract import Paper
from llmphases.reports.layout import BAR_CHARACTERS

_WIDTH_OF_A_FILE = 80
_STDERR = 2


def paper_of_stdout() -> Paper:
    """What stdout can show. Colours on a terminal only, and not if `NO_COLOR` is set."""
    width = shutil.get_terminal_size((_WIDTH_OF_A_FILE, 24)).columns
    return Paper(
        width=width,
        colour=_shows_colours(sys.stdout),
        unicode=_can_encode(BAR_CHARACTERS, sys.stdout),
    )


def paper_of_stderr() -> Paper:
    """What stderr can show, likewise."""
    try:
        width = os.get_terminal_size(_STDERR).columns or _WIDTH_OF_A_FILE
    except OSError:
        width = _WIDTH_OF_A_FILE
    return Paper(
        width=width,
        colour=_shows_colours(sys.stderr),
        unicode=_can_encode(BAR_CHARACTERS, sys.stderr),
    )


def tell(text: str) -> None:
    """Lines to stderr, and no harm if nobody takes them: what was run matters more."""
    from llmphases.capture.children.live import write_all  # a report needs none of it

    if sys.stderr is not None:
        with suppress(OSError):
            write_all(_STDERR, f"{text}\n".encode(_encoding(sys.stderr), "backslashreplace"))


def write(text: str) -> None:
    """Print to stdout; what its encoding cannot hold is shown as an escape.

    Raises `OutputError` if stdout takes nothing (closed, a full disk), and `BrokenPipeError` if
    its reader has gone.
    """
    if sys.stdout is None:
        raise OutputError("cannot write: stdout is closed")
    if not _can_encode(text, sys.stdout):
        encoding = _encoding(sys.stdout)
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    try:
        print(text, flush=True)
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write to stdout: {error.strerror or error}") from error


def complain(text: str) -> None:
    """One line to stderr; Python escapes there what the encoding cannot hold."""
    if sys.stderr is not None:  # `print` would take stdout instead
        print(f"llmphases: {text}", file=sys.stderr)


def _shows_colours(stream: TextIO | None) -> bool:
    if stream is None or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return stream.isatty()


def _can_encode(text: str, stream: TextIO | None) -> bool:
    if stream is None:
        return False
    try:
        text.encode(_encoding(stream))
    except UnicodeEncodeError:
        return False
    return True


def _encoding(stream: TextIO) -> str:
    return stream.encoding or "utf-8"


class ReadingProgress:
    """How far a long reading is, on stderr; silent for small inputs and where nobody looks."""

    def __init__(self, total_bytes: int) -> None:
        self._total = total_bytes
        self._read = 0
        self._shown = -1
        is_watched = sys.stderr is not None and sys.stderr.isatty()
        self._is_shown = total_bytes > _LONG_READING and is_watched

    def __call__(self, more_bytes: int) -> None:
        """So many bytes more have been read."""
        self._read += more_bytes
        percent = min(100, self._read * 100 // max(1, self._total))
        if self._is_shown and percent != self._shown:
            self._shown = percent
            print(f"\rreading: {percent:3} %", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Take it away again."""
        if self._shown >= 0:
            print("\r" + " " * 16 + "\r", end="", file=sys.stderr, flush=True)


_LONG_READING = 4_000_000
"""About a second."""
