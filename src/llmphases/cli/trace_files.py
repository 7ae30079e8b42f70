"""The calls in files of traces that a command is given."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from llmphases.calls import Call
from llmphases.cli.exits import UsageError
from llmphases.cli.terminal import ReadingProgress
from llmphases.conventions import DEFAULT_FILE, ENV_FILE
from llmphases.errors import UnreadableSourceError
from llmphases.sources.contract import Reading
from llmphases.sources.otlp_file import OtlpFiles

_STDIN = "-"


def default_file() -> str:
    """The file that a program here has written into. Raises `UsageError` if there is none."""
    name = os.environ.get(ENV_FILE) or DEFAULT_FILE
    if Path(name).exists():
        return name
    raise UsageError(
        f"no FILE given, and there is no {name} here; give the file that llmphases.configure() "
        f"named when the program ran, or run the program in this directory first"
    )


def read_traces(files: Sequence[str]) -> Reading:
    """All of them as one job; `-` is standard input. Raises `UnreadableSourceError`."""
    size = sum(Path(file).stat().st_size for file in files if Path(file).is_file())
    progress = ReadingProgress(size)
    sources = [sys.stdin.buffer if file == _STDIN else file for file in files]
    # Everything that is read stays until the end: to look for garbage in it takes a third of the
    # time and finds none.
    gc.disable()
    try:
        reading = OtlpFiles(sources, progress=progress).read()
    finally:
        gc.enable()
        progress.close()
    if reading.is_foreign:
        raise UnreadableSourceError(
            f"nothing in {', '.join(files)} is a trace ({reading.skipped}); expected OTLP JSON "
            f"lines, as llmphases.configure() and the OpenTelemetry collector write them"
        )
    return reading


def named(calls: Sequence[Call], names: Sequence[str]) -> list[Call]:
    """The calls of these names. Raises `UsageError` for a name that none has."""
    chosen = [call for call in calls if call.name in names]
    missing = sorted(set(names) - {call.name for call in chosen})
    if missing:
        known = ", ".join(sorted({repr(call.name) for call in calls})) or "none"
        raise UsageError(
            f"no call is named {' or '.join(map(repr, missing))}; the names here are: {known}"
        )
    return chosen
