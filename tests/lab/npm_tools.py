"""Agent tools from npm, of the versions whose output we know, in a folder of the project.

As a program it fetches those that are not there yet, and says what it does. Without npm there are
none, and their tests skip.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

FOLDER = Path(__file__).parents[2] / ".lab" / "clis"
PINNED = {
    "claude": ("@anthropic-ai/claude-code", "2.1.197"),
    "codex": ("@openai/codex", "0.171.0"),
    "gemini": ("@google/gemini-cli", "0.61.0"),
    "qwen": ("@qwen-code/qwen-code", "0.15.10"),
}
"""Exact, since what they print and whom they ask is what the tests are about."""


def program(name: str) -> Path:
    """Where the program of a tool is, or would be."""
    return _folder(name) / "node_modules" / ".bin" / name


def missing(name: str) -> str | None:
    """Why there is no such program, in words; None if there is."""
    if program(name).exists():
        return None
    reason = "npm is not installed" if shutil.which("npm") is None else "make test-clis fetches it"
    return f"not installed: {name} ({reason})"


def _folder(name: str) -> Path:
    return FOLDER / f"{name}-{PINNED[name][1]}"


def fetch(name: str) -> bool:
    """Have a tool; False if that failed, with npm's own words on stderr."""
    package, version = PINNED[name]
    print(f"== fetching {package}@{version} into {FOLDER.parent.name}/{FOLDER.name}", flush=True)
    command = ["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--silent"]
    words = [*command, "--prefix", str(_folder(name)), f"{package}@{version}"]
    if subprocess.run(words, stdin=subprocess.DEVNULL, check=False).returncode == 0:
        return True
    shutil.rmtree(_folder(name), ignore_errors=True)
    return False


def main() -> None:
    """Fetch what is not there; what cannot be had is said, and is no failure."""
    absent = [name for name in PINNED if missing(name) is not None]
    if absent and shutil.which("npm") is None:
        print(f"== no npm: nothing to test of {', '.join(absent)}")
        return
    for name in absent:
        if not fetch(name):
            print(f"== {name} cannot be fetched: its tests skip")


if __name__ == "__main__":
    main()
