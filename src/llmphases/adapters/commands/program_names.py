"""What a program is called, by the path or the package it is started from."""

from __future__ import annotations

import re
from functools import lru_cache

_PACKAGES = {
    "@anthropic-ai/claude-code": "claude",
    "@github/copilot": "copilot",
    "@google/gemini-cli": "gemini",
    "@openai/codex": "codex",
    "@qwen-code/qwen-code": "qwen",
    "opencode-ai": "opencode",
}
"""Packages whose program has another name, and whose script is called `cli.js` or the like."""

_PACKAGE = re.compile(rf"(?:^|/)({'|'.join(map(re.escape, _PACKAGES))})(?:@|/|$)")
_ENDINGS = re.compile(r"\.(exe|cmd|bat|ps1|js|cjs|mjs|ts|py|pyz)$", re.IGNORECASE)


@lru_cache(maxsize=64)  # each format asks anew
def program_name(word: str) -> str:
    """The name of a program: without folders, endings, and the version after an `@`."""
    path = word.replace("\\", "/")
    package = _PACKAGE.search(path)
    if package is not None:
        return _PACKAGES[package[1]]
    name = path.rstrip("/").rpartition("/")[2]
    name, _, _ = name[1:].partition("@") if name.startswith("@") else name.partition("@")
    return _ENDINGS.sub("", name)
