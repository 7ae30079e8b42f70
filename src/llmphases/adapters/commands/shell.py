"""Lines for a shell, as far as it takes to see which programs print."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from llmphases.adapters.commands.program_names import program_name

_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh", "ash", "fish"})
_DESCRIPTORS = frozenset("012")
_QUOTES = r"""'[^']*'|"(?:\\.|[^"\\])*"|\\."""
_QUOTED = re.compile(_QUOTES, re.DOTALL)
_ESCAPED_IN_QUOTES = re.compile(r"""\\([$`"\\\n])""")
_TOKEN = re.compile(
    r"(?P<blank>[ \t\r]+|\\\n)|(?P<operator>[();<>|&\n]+)"
    rf"""|(?P<word>(?:{_QUOTES}|[^ \t\r\n'"\\();<>|&])+)""",
    re.DOTALL,
)
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
    found: list[list[str]] = []
    command: list[str] = []
    words = _words_of(text)
    for kind, word in words:
        if kind == "word":
            if command or word not in _KEYWORDS:
                command.append(word)
        elif "<" in word or ">" in word:  # a redirection, and its target
            next((kind for kind, _ in words if kind == "word"), None)
            if command and command[-1] in _DESCRIPTORS:
                command.pop()
        else:
            if word.rstrip("\n") not in ("|", "|&"):
                found.append(command)
            command = []
    return [one for one in (*found, command) if one]


def _words_of(text: str) -> Iterator[tuple[str, str]]:
    """The words and operators of a line, quotes taken off; it ends where quotes do not close."""
    at = 0
    while (token := _TOKEN.match(text, at)) is not None:
        at = token.end()
        if token.lastgroup == "word":
            yield "word", _QUOTED.sub(_unquoted, token["word"])
        elif token.lastgroup == "operator":
            yield "operator", token["operator"]


def _unquoted(quoted: re.Match[str]) -> str:
    text = quoted[0]
    if text.startswith("'"):
        return text[1:-1]
    if text.startswith('"'):
        return _ESCAPED_IN_QUOTES.sub(r"\1", text[1:-1])
    return "" if text == "\\\n" else text[1:]
