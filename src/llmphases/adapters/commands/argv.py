"""Command lines: which program prints in the end, and with which options."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llmphases.adapters.commands.launchers import unwrapped
from llmphases.adapters.commands.program_names import program_name
from llmphases.adapters.commands.shell import commands_in, text_of_shell

_DEEPEST = 8
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")


def commands_of(argv: Sequence[str] | str) -> list[list[str]]:
    """The commands a command line may come down to, each its program's name and its arguments.

    Through what starts programs (`env`, `npx`, `uv run`, `python -m`, `node cli.js`, `timeout`)
    and through `sh -c`, which may hold several. A text is a line for the shell.
    """
    found = [["sh", "-c", argv]] if isinstance(argv, str) else [list(argv)]
    for _ in range(_DEEPEST):
        opened = [inner for words in found for inner in _opened(words)]
        if opened == found:
            break
        found = opened
    return [[program_name(words[0]), *words[1:]] for words in found if words]


def _opened(words: list[str]) -> list[list[str]]:
    words = words[_assignments(words) :]
    if not words:
        return []
    text = text_of_shell(words)
    if text is not None:
        return commands_in(text)
    inner = unwrapped(words)
    return [words if inner is None else inner]


def _assignments(words: Sequence[str]) -> int:
    """How many words at the beginning set variables, as before a command in the shell."""
    return next((i for i, word in enumerate(words) if not _ASSIGNMENT.match(word)), len(words))


def is_program(words: Sequence[str], *names: str) -> bool:
    """Whether a command's program is one of these."""
    return bool(words) and program_name(words[0]) in names


def option(words: Sequence[str], *names: str) -> str | None:
    """The value of an option, `--name value` or `--name=value`; of several the last."""
    value = None
    arguments = _before_the_rest(words)
    for i, word in enumerate(arguments):
        name, is_joined, joined = word.partition("=")
        if name in names and is_joined:
            value = joined
        elif word in names and i + 1 < len(arguments):
            value = arguments[i + 1]
    return value


def has_flag(words: Sequence[str], *names: str) -> bool:
    """Whether one of these options is there."""
    return any(word in names for word in _before_the_rest(words))


def subcommand(words: Sequence[str]) -> str | None:
    """The first argument that is no option; an option's own value may be taken for it."""
    return next((word for word in words[1:] if not word.startswith("-")), None)


def _before_the_rest(words: Sequence[str]) -> Sequence[str]:
    """The arguments up to `--`, after which nothing is an option."""
    return words[1 : words.index("--")] if "--" in words[1:] else words[1:]
