"""Programs of which we know nothing: their first and last printed byte tell."""

from __future__ import annotations

from collections.abc import Sequence

from llmphases.adapters.commands.text_output import TextOutput
from llmphases.capture.children.formats import CommandFormat


def _always(words: Sequence[str]) -> bool:
    return True


def _never(words: Sequence[str]) -> bool:
    return False


PLAIN_TEXT = CommandFormat(name="text", matches=_always, reader=TextOutput, is_text=True)
STREAMED_TEXT = CommandFormat(  # for a program of the user's own, by name only
    name="streamed-text", matches=_never, reader=TextOutput, is_text=True, streams=True
)
FORMATS = (STREAMED_TEXT, PLAIN_TEXT)
