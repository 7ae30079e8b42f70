"""Which command a command line comes down to."""

from __future__ import annotations

import pytest

from llmphases.adapters.commands.argv import (
    commands_of,
    has_flag,
    is_program,
    option,
    subcommand,
)


@pytest.mark.parametrize(
    "argv",
    [
        ["claude", "-p", "hi"],
        ["/usr/local/bin/claude", "-p", "hi"],
        ["C:\\tools\\claude.CMD", "-p", "hi"],
        ["env", "-i", "A=1", "B=", "claude", "-p", "hi"],
        ["npx", "-y", "@anthropic-ai/claude-code@2.1.197", "-p", "hi"],
        ["node", "--no-warnings", "/x/@anthropic-ai/claude-code/cli.js", "-p", "hi"],
        ["sh", "-c", "claude -p hi"],
        ["bash", "-lc", "A=1 exec claude -p hi 2>/dev/null"],
        ["timeout", "-k", "5", "60", "nice", "-n", "5", "claude", "-p", "hi"],
        ["env", "A=1", "sh", "-c", "npx claude -p hi"],
        "A=1 claude -p hi",
        'cat prompt.txt | "claude" -p hi',
    ],
)
def test_the_program_is_found_behind_what_starts_it(argv):
    assert commands_of(argv) == [["claude", "-p", "hi"]]


def test_a_line_for_the_shell_may_hold_several():
    assert commands_of("cd /x && llm hi > out.txt; echo done") == [
        ["cd", "/x"],
        ["llm", "hi"],
        ["echo", "done"],
    ]


@pytest.mark.parametrize("argv", [[], "", ["env"], ["env", "A=1"], ["sh", "-c", ""], ["sh"], [""]])
def test_a_line_without_a_command_has_none_that_is_known(argv):
    assert all(words[0] in ("", "env", "sh") for words in commands_of(argv))


def test_launchers_that_never_end_are_given_up():
    assert commands_of(["env"] * 50 + ["claude"])[0][0] == "env"


def test_an_option_is_read_in_both_ways_and_the_last_one_counts():
    words = ["x", "-o", "json", "--format=text", "--format", "stream"]
    assert option(words, "-o") == "json"
    assert option(words, "--format") == "stream"
    assert option(words, "--other") is None
    assert option(["x", "--format"], "--format") is None
    assert option(["x", "--", "--format", "json"], "--format") is None


def test_a_flag_counts_before_the_end_of_options_only():
    assert has_flag(["x", "--json"], "--json")
    assert not has_flag(["x", "--", "--json"], "--json")
    assert not has_flag(["--json"], "--json")


def test_a_subcommand_is_the_first_argument_that_is_no_option():
    assert subcommand(["ollama", "--x", "run", "m"]) == "run"
    assert subcommand(["ollama"]) is None


def test_no_words_are_no_program():
    assert not is_program([], "claude")
    assert is_program(["/bin/claude"], "codex", "claude")
