"""What docs/plan.md shows is what the command prints, and what it says of limits is so."""

from __future__ import annotations

import re
from pathlib import Path

from llmphases.analysis.fit import CONFIDENCE, FEWEST_CALLS, LEAST_SPREAD
from llmphases.cli.main import main

DOCUMENT = (Path(__file__).parents[2] / "docs" / "plan.md").read_text("utf-8")


def test_the_example_is_what_the_command_prints(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    command, shown = re.search(
        r"^```\n\$ llmphases (.*?)\n(.*?)^```", DOCUMENT, re.MULTILINE | re.DOTALL
    ).groups()
    assert main(command.split()) == 0
    assert capsys.readouterr().out == shown


def test_the_least_that_a_fit_takes_is_told():
    assert f"fewer than {FEWEST_CALLS} calls" in DOCUMENT
    assert f"not {LEAST_SPREAD} times as many" in DOCUMENT
    assert f"at least {CONFIDENCE:.0%}".replace("%", " %") in " ".join(DOCUMENT.split())
