"""What programs that start other programs start."""

from __future__ import annotations

import shlex

import pytest

from llmphases.adapters.commands.launchers import unwrapped


@pytest.mark.parametrize(
    ("line", "rest"),
    [
        ("npx claude -p", "claude -p"),
        ("npx -y -p @openai/codex codex exec", "codex exec"),
        ("npm exec -- claude -p", "claude -p"),
        ("pnpm dlx claude", "claude"),
        ("bunx claude", "claude"),
        ("bun x claude", "claude"),
        ("node -r ./a.js cli.js -p", "cli.js -p"),
        ("uvx llm hi", "llm hi"),
        ("uvx --with llm-x --from llm llm hi", "llm hi"),
        ("uv run --with llm llm hi", "llm hi"),
        ("uv --quiet run -m llm hi", "llm hi"),
        ("uv tool run llm hi", "llm hi"),
        ("uv run python -m llm hi", "python -m llm hi"),
        ("pipx run --spec llm llm hi", "llm hi"),
        ("conda run -n e llm hi", "llm hi"),
        ("python -m llm hi", "llm hi"),
        ("python3.12 -X dev -Im llm hi", "llm hi"),
        ("/venv/bin/python /venv/bin/llm hi", "/venv/bin/llm hi"),
        ("sudo -u me llm", "llm"),
        ("timeout --signal=KILL 5 llm", "llm"),
        ("stdbuf -oL llm", "llm"),
        ("env -u X A=1 llm", "A=1 llm"),
    ],
)
def test_the_command_inside_is_found(line, rest):
    assert unwrapped(shlex.split(line)) == shlex.split(rest)


@pytest.mark.parametrize(
    "line",
    ["llm hi", "npx", "npx -p", "npm run build", "uv pip install llm", "uv", "python -c 1",
     "python", "python -", "timeout 5", "ollama run m", "pythonic -m llm"],
)  # fmt: skip
def test_others_start_none_that_can_be_told(line):
    assert unwrapped(shlex.split(line)) is None
