"""What a program is called, by the path or the package it is started from."""

from __future__ import annotations

import re

_PACKAGES = {
    "@anthropic-ai/claude-code": "claude",
    "@github/copilot": "copilot",
    "@google/gemini-cli": "gemini",
    "@openai/codex": "codex",
    "@qwen-code/qwen-code": "qwen",
    "opencode-ai": "opencode",
}
"""Packages whose program has another name, and whose script is called `cli.js` or the like."""

_ENDINGS = re.compile(r"\.(exe|cmd|bat|ps1|js|cjs|mjs|ts|py|pyz)$", re.IGNORECASE)


def program_name(word: str) -> str:
    """The name of a program: without folders, endings, and the version after an `@`."""
    path = word.replace("\\", "/")
    for package, name in _PACKAGES.items():
        if re.search(rf"(^|/){re.escape(package)}(@|/|$)", path):
            return name
    name = path.rstrip("/").rpartition("/")[2]
    name, _, _ = name[1:].partition("@") if name.startswith("@") else name.partition("@")
    return _ENDINGS.sub("", name)
