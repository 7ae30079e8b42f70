"""Output that is plain text on stdout, with or without something to read on stderr."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from llmphases.capture.children.formats import STDERR, STDOUT, FormatReader
from llmphases.recorder.child_events import Event

_LONGEST = 4096
"""Bytes of a line of stderr that are looked at: no report has longer ones."""

_UNSEEN = re.compile(
    r"\x1b(?:\[[0-9;?]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))|[\x00-\x08\x0b-\x1f\x7f]"
)


def _nothing(line: str) -> list[Event]:
    return []


class TextOutput(FormatReader):
    """Leaves stdout to those who time its bytes; `stderr` reads the lines of the other stream."""

    __slots__ = ("_at_end", "_stderr")

    def __init__(
        self,
        stderr: Callable[[str], list[Event]] = _nothing,
        at_end: Callable[[], list[Event]] = list,
    ) -> None:
        self._stderr = stderr
        self._at_end = at_end

    def line(self, stream: int, line: bytes) -> Iterable[Event] | None:
        if stream == STDOUT:
            return None
        if stream != STDERR or self._stderr is _nothing or len(line) > _LONGEST:
            return ()
        return self._stderr(_UNSEEN.sub("", line.decode("utf-8", "replace")))

    def end(self) -> Iterable[Event]:
        return self._at_end()
