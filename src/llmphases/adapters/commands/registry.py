"""Which formats there are, and which one a command prints in."""

from __future__ import annotations

import os
from collections.abc import Sequence

from llmphases.adapters.commands import (
    claude_code,
    codex,
    copilot,
    gemini_cli,
    llama_cpp,
    ollama_run,
    opencode,
    plain_text,
    qwen_code,
    simonw_llm,
)
from llmphases.adapters.commands.argv import commands_of
from llmphases.adapters.commands.plain_text import PLAIN_TEXT
from llmphases.capture.children.formats import CommandFormat
from llmphases.errors import ArgumentError

FORMATS: tuple[CommandFormat, ...] = (
    *claude_code.FORMATS,
    *codex.FORMATS,
    *gemini_cli.FORMATS,
    *qwen_code.FORMATS,
    *opencode.FORMATS,
    *copilot.FORMATS,
    *simonw_llm.FORMATS,
    *ollama_run.FORMATS,
    *llama_cpp.FORMATS,
    *plain_text.FORMATS,
)
"""In the order they are asked; the last one takes what is left."""

Word = str | bytes | os.PathLike[str] | os.PathLike[bytes]


def format_for(argv: Sequence[Word] | str | bytes, name: str | None = None) -> CommandFormat:
    """The format a command prints in: by its program and options, or the one that is named.

    A program is found behind what starts it (`npx`, `uv run`, `python -m`, `env`, `sh -c`) as far
    as that can be told; a text is a line for the shell. What no format knows is plain text.
    Raises `ArgumentError` for a name that is none.
    """
    if name is not None:
        return _named(name)
    words = os.fsdecode(argv) if isinstance(argv, (str, bytes)) else [_text(word) for word in argv]
    for command in commands_of(words):
        for one in FORMATS:
            if one is not PLAIN_TEXT and one.matches(command):
                return one
    return PLAIN_TEXT


def _named(name: str) -> CommandFormat:
    for one in FORMATS:
        if one.name == name:
            return one
    known = ", ".join(sorted(one.name for one in FORMATS))
    raise ArgumentError(f"no output format is called {name!r}. Known: {known}")


def _text(word: object) -> str:
    """A word as text; what no program can be given as one is as good as empty."""
    return os.fsdecode(word) if isinstance(word, (str, bytes, os.PathLike)) else ""
