from __future__ import annotations

import pytest

from llmphases.adapters.commands.program_names import program_name


@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("claude", "claude"),
        ("/opt/x.y/claude", "claude"),
        ("llm.exe", "llm"),
        ("llm@0.36", "llm"),
        ("@anthropic-ai/claude-code", "claude"),
        ("@openai/codex@latest", "codex"),
        ("/n/node_modules/@google/gemini-cli/dist/index.js", "gemini"),
        ("C:\\n\\node_modules\\@qwen-code\\qwen-code\\cli.js", "qwen"),
        ("opencode-ai@1.18.33", "opencode"),
        ("@github/copilot", "copilot"),
        ("@openai/codex-other", "codex-other"),
        ("@other/tool@1", "tool"),
        ("bin/", "bin"),
        ("", ""),
        ("@", ""),
        ("/", ""),
    ],
)
def test_a_program_is_named_without_folders_endings_and_versions(word, name):
    assert program_name(word) == name
