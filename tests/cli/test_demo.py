"""The demonstration: it runs, its numbers are the stated ones, and it leaves nothing behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from llmphases.cli import demo
from llmphases.cli.main import main
from llmphases.sources.otlp_file import OtlpFiles


@pytest.fixture(scope="module", autouse=True)
def _small() -> Any:
    """The same demonstration with less work."""
    patch = pytest.MonkeyPatch()
    patch.setattr(demo, "UNITS", 12)
    patch.setattr(demo, "FIXED_S", 0.06)
    patch.setattr(demo, "PER_UNIT_S", 0.005)
    yield
    patch.undo()


def test_the_demo_prints_the_story_and_a_table(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo"]) == 0
    out = capsys.readouterr().out
    assert "4 calls, as many as workers" in out
    assert "time_to_first_token" in out
    assert list(tmp_path.iterdir()) == []
    assert max(map(len, out.splitlines())) <= 82


def test_the_demos_json_holds_every_call(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    calls = {group["name"]: group["calls"] for group in told["groups"]}
    assert calls == {"one_call": 1, "twelve_calls": 12, "one_wave": 4}
    assert told["totals"]["phases"]["time_to_first_token"]["mean"] >= 0.05


def test_a_disabled_package_has_nothing_to_show(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LLMPHASES_DISABLED", "1")
    assert main(["demo"]) == 0
    assert "LLMPHASES_DISABLED" in capsys.readouterr().err


def test_the_demo_keeps_its_traces_where_it_is_told(tmp_path: Path, run_llmphases: Any) -> None:
    kept = tmp_path / "demo.jsonl"
    done = run_llmphases("demo", "--file", str(kept))
    assert done.returncode == 0, done.stderr
    assert str(kept) in done.stdout
    assert len(OtlpFiles([kept]).read().calls) == 17
