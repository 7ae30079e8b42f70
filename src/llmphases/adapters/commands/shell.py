"""Lines for a shell, as far as it takes to see which programs print."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from itertools import pairwise

from llmphases.adapters.commands.program_names import program_name

_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"})
_LONGEST = 100_000
_DESCRIPTORS = frozenset("012")
_OPERATORS = "();<>|&\n"
_KEYWORDS = frozenset({"!", "{", "}", "if", "then", "else", "elif", "fi", "do", "done", "while"})


def text_of_shell(words: Sequence[str]) -> str | None:
    """What a shell is told to run by `-c`; None if this is no such command."""
    if program_name(words[0]) not in _SHELLS:
        return None
    for word, following in pairwise(words[1:]):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            return following
        if not word.startswith(("-", "+")):
            return None
    return None


def commands_in(text: str) -> list[list[str]]:
    """The commands in a shell's line whose output is seen: of a pipe, its last one.

    Quotes that do not close, substitutions and blocks are read as best we can.
    """
    if len(text) > _LONGEST:
        return []
    text = text.replace("\\\n", " ")
    lexer = shlex.shlex(text, posix=True, punctuation_chars=_OPERATORS)
    lexer.commenters = ""
    lexer.whitespace = " \t\r"  # and no line end: that ends a command
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:  # no closing quotation
        return []
    return [command for command in _split(words) if command]


def _split(words: Sequence[str]) -> Iterator[list[str]]:
    command: list[str] = []
    is_target = False
    for word in words:
        if is_target:  # of a redirection
            is_target = False
        elif not word or word.strip(_OPERATORS):
            if command or word not in _KEYWORDS:
                command.append(word)
        elif "<" in word or ">" in word:
            is_target = True
            if command and command[-1] in _DESCRIPTORS:
                command.pop()
        else:
            if word not in ("|", "|&"):
                yield command
            command = []
    yield command
