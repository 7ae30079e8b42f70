"""`llm` (0.36): text that streams even into a pipe; `-u` writes the usage to stderr."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llmphases.adapters.commands.argv import has_flag, is_program, subcommand
from llmphases.adapters.commands.text_output import TextOutput
from llmphases.adapters.usage import count
from llmphases.calls import Usage
from llmphases.capture.children.formats import CommandFormat
from llmphases.recorder.child_events import Event, Said

_USAGE = re.compile(r"^Token usage:(?: ([\d,]+) input)?,?(?: ([\d,]+) output)?")
_DIGITS = 19
_WITHOUT_MODEL = frozenset(
    {
        "aliases", "collections", "embed", "embed-models", "embed-multi", "fragments", "install",
        "keys", "logs", "models", "openai", "plugins", "schemas", "similar", "templates", "tools",
        "uninstall",
    }
)  # fmt: skip
"""Its commands that ask no model. What is no command at all is a prompt."""


def _usage(line: str) -> list[Event]:
    found = _USAGE.match(line)
    if found is None:
        return []
    usage = Usage(input_tokens=_count(found[1]), output_tokens=_count(found[2]))
    return [Said(usage=usage)] if usage else []


def _count(digits: str | None) -> int | None:
    figures = (digits or "").replace(",", "")
    return count(int(figures)) if 0 < len(figures) <= _DIGITS else None


def _reader() -> TextOutput:
    return TextOutput(stderr=_usage)


def _asks_a_model(words: Sequence[str]) -> bool:
    return is_program(words, "llm") and subcommand(words) not in _WITHOUT_MODEL


def _asks_at_once(words: Sequence[str]) -> bool:
    return _asks_a_model(words) and has_flag(words, "--no-stream")


FORMATS = (
    CommandFormat(name="llm-no-stream", matches=_asks_at_once, reader=_reader, is_text=True),
    CommandFormat(name="llm", matches=_asks_a_model, reader=_reader, is_text=True, streams=True),
)
