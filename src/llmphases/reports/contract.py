"""What a report is, and what it is written on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from llmphases.analysis.split import Split


@dataclass(frozen=True, slots=True, kw_only=True)
class Paper:
    """What a text is written on; the default is a plain file."""

    width: int = 80
    """Characters in a line; names and the table may need some more than 40."""
    colour: bool = False
    """Whether it shows ANSI colours; without the package `rich` there are none anyway."""
    unicode: bool = True
    """Whether it can show block characters; else bars are made of `#`."""


class Report(Protocol):
    """Turns a split into text."""

    def __call__(self, split: Split) -> str:
        """The whole report, without a newline at its end."""
        ...
