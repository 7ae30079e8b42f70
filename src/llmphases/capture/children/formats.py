"""What capture asks of a command's format of output; the formats are in `adapters.commands`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from llmphases.recorder.child_events import Event

STDOUT, STDERR = 1, 2


class FormatReader(Protocol):
    """Reads the lines of one run. It never raises for odd input: a line it cannot read is text."""

    def line(self, stream: int, line: bytes) -> Iterable[Event] | None:
        """One line, without its line end. None: this is plain text to the format."""
        ...

    def end(self) -> Iterable[Event]:
        """All output has been read: what only the whole of it tells (one JSON object, say)."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandFormat:
    """One kind of output of one program."""

    name: str
    """As `--format` names it, e.g. `claude-stream-json`."""
    matches: Callable[[Sequence[str]], bool]
    """Whether a command line (its words, the program first) prints in this format."""
    reader: Callable[[], FormatReader]
    is_text: bool = False
    """Whether the answer is the plain text on stdout: first and last printable byte count."""
    streams: bool = False
    """For text: whether the program is known to print as tokens arrive, so that even a burst
    tells the first token."""
