"""Lines of styled pieces: the one layout of a text, whether it is painted or not."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from enum import StrEnum
from io import StringIO

from llmphases.phases import Cost

_EIGHTHS = " ▏▎▍▌▋▊▉"
_FULL = "█"
_BEFORE_A_UNIT = re.compile(r"(?<=\d) (?=(?:s|ms|min|h|%)(?!\w))")
_NO_BREAK = "\0"
BAR_CHARACTERS = _EIGHTHS + _FULL
"""What a terminal has to be able to show for smooth bars."""


class Look(StrEnum):
    """How a piece of text looks where there are colours; the value is a style of `rich`."""

    PLAIN = ""
    TITLE = "bold"
    FAINT = "dim"
    BAD = "bold red"
    FIXED = "red"
    GENERATION = "green"
    DELIVERY = "cyan"
    TOOL = "yellow"
    UNSPLIT = "magenta"


LOOK_OF = {cost: Look(Look[cost.name]) for cost in Cost}

Line = list[tuple[str, Look]]


def plain(lines: Sequence[Line]) -> str:
    """The lines without any look."""
    return "\n".join("".join(text for text, _ in line).rstrip() for line in lines)


def written(lines: Sequence[Line], *, colour: bool) -> str:
    """The lines as they are to be printed: the same words with colours and without."""
    return _painted(lines) if colour else plain(lines)


def _painted(lines: Sequence[Line]) -> str:
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        return plain(lines)
    out = StringIO()
    # The sixteen colours follow the theme of the terminal; wide enough never to break a line.
    console = Console(
        file=out, force_terminal=True, color_system="standard", legacy_windows=False, width=1000
    )
    for line in lines:
        console.print(Text.assemble(*((text, look.value) for text, look in line)), soft_wrap=True)
    return out.getvalue().rstrip("\n")


def bar(share: float, width: int, *, unicode: bool) -> str:
    """A bar, `width` characters long for a share of 1.

    Something is seen of any share over 0, unless there is no room at all.
    """
    if share <= 0 or width <= 0:
        return ""
    if not unicode:
        return "#" * round(share * width) or "."
    eighths = max(1, round(share * width * 8))
    return _FULL * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def paragraph(text: str, width: int, indent: int, look: Look = Look.PLAIN) -> list[Line]:
    """Text over as many lines as it needs; what belongs together as `68.0 s` stays so."""
    kept = _BEFORE_A_UNIT.sub(_NO_BREAK, text)
    wrapped = textwrap.wrap(kept, width - indent, break_long_words=False)
    return [[(" " * indent + line.replace(_NO_BREAK, " "), look)] for line in wrapped]
