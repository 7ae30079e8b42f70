"""The format of a command, by its program, or by name."""

from __future__ import annotations

import pathlib

import pytest

from llmphases.adapters.commands.plain_text import PLAIN_TEXT
from llmphases.adapters.commands.registry import FORMATS, format_for
from llmphases.errors import ArgumentError


def test_the_names_are_told_apart_and_the_last_format_takes_what_is_left():
    names = [one.name for one in FORMATS]
    assert len(set(names)) == len(names)
    assert FORMATS[-1] is PLAIN_TEXT


def test_a_name_overrules_the_program():
    assert format_for(["claude", "-p", "hi"], "codex-json").name == "codex-json"
    assert format_for(["my-wrapper"], name="claude-stream-json").name == "claude-stream-json"


def test_an_unknown_name_is_refused_with_those_there_are():
    with pytest.raises(ArgumentError, match=r"'claude'.* claude-json, .*text"):
        format_for(["claude"], "claude")


@pytest.mark.parametrize(
    ("argv", "name"),
    [
        ("claude -p 'say hello' --output-format json", "claude-json"),
        (b"claude -p hi --output-format json", "claude-json"),
        (["sh", "-c", "cd x && claude -p hi --output-format json | tee log"], "text"),
        (["sh", "-c", "echo start; llm hi"], "llm"),
        ([b"/usr/bin/llm", b"\xff"], "llm"),
        ([pathlib.PurePosixPath("/usr/bin/llm"), "hi"], "llm"),
        (["uv", "run", "llm", "hi"], "llm"),
        (["python", "-m", "llm", "hi"], "llm"),
        (["npx", "@google/gemini-cli", "-p", "x", "-o", "json"], "gemini-json"),
        (["node", "/n/@openai/codex/bin/codex.js", "exec", "--json", "x"], "codex-json"),
        ([], "text"),
        ([7, None], "text"),
        (["git", "commit"], "text"),
    ],
)
def test_the_program_is_found_however_it_is_started(argv, name):
    assert format_for(argv).name == name


def test_each_run_has_a_reader_of_its_own():
    for one in FORMATS:
        assert one.reader() is not one.reader()
