"""Lines for a shell, read as far as it takes."""

from __future__ import annotations

import pytest

from llmphases.adapters.commands.shell import commands_in, text_of_shell


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["sh", "-c", "a b"], "a b"),
        (["/bin/bash", "-lc", "a"], "a"),
        (["bash", "-l", "-e", "-c", "a", "b"], "a"),
        (["bash", "script.sh", "-c", "a"], None),
        (["bash", "--rcfile", "-c"], None),
        (["sh"], None),
        (["sh", "-c"], None),
        (["claude", "-c", "a"], None),
    ],
)
def test_a_shell_is_told_what_to_run_by_an_option(words, text):
    assert text_of_shell(words) == text


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("a 'b c' \"d\"", [["a", "b c", "d"]]),
        ("a; b && c || d & e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a | b |\n c", [["c"]]),
        ("a\xa0b\x0bc d", [["a\xa0b\x0bc", "d"]]),
        ("a\nb", [["a"], ["b"]]),
        ("a \\\n b", [["a", "b"]]),
        ("a < in > out b", [["a", "b"]]),
        ("a b 2>&1 >>out", [["a", "b"]]),
        ("(a b)", [["a", "b"]]),
        ("if a; then b; fi", [["a"], ["b"]]),
        ("a --x=1 # b", [["a", "--x=1", "#", "b"]]),
        ("a ''", [["a", ""]]),
        ("a 'b", [["a"]]),
        ('a; b "c', [["a"], ["b"]]),
        ("a 'b'\"c\"d\\ e", [["a", "bcd e"]]),
        ('a "b \\" \\n c" \\"', [["a", 'b " \\n c', '"']]),
        ("a 'x\ny'\nb", [["a", "x\ny"], ["b"]]),
        ("", []),
        ("a '" + "x " * 100_000 + "' b", [["a", "x " * 100_000, "b"]]),
    ],
)
def test_the_commands_whose_output_is_seen(text, commands):
    assert commands_in(text) == commands
