"""The doctor: finds what is wrong, says what to do, and tells no secret."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from lab.otlp_receiver import OtlpReceiver

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_without_settings_traces_go_to_a_file(run_llmphases: Run, tmp_path: Path) -> None:
    """The file itself is the user's: nothing is written to it, and nothing else is left behind."""
    done = run_llmphases("doctor")
    assert done.returncode == 0, done.stderr
    assert "llmphases-traces.jsonl" in done.stdout
    assert "arrived" in done.stdout
    assert "llmphases report" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays_as_it_is(
    run_llmphases: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = tmp_path / "mine"
    mine.write_text("{}\n")
    monkeypatch.setenv("LLMPHASES_FILE", str(mine))
    done = run_llmphases("doctor")
    assert done.returncode == 0, done.stdout
    assert f"traces go to                 the file {mine}" in done.stdout
    assert f"arrived in a temporary file; {mine} is as it was" in done.stdout
    assert "llmphases report" in done.stdout
    assert mine.read_text() == "{}\n"
    assert list(tmp_path.iterdir()) == [mine]


def test_a_file_in_no_folder_is_found(run_llmphases: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMPHASES_FILE", "no/such/folder.jsonl")
    done = run_llmphases("doctor")
    assert done.returncode == 1
    assert "its directory does not exist" in done.stdout


def test_an_endpoint_that_answers_gets_a_test_span(
    run_llmphases: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OtlpReceiver() as receiver:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.url)
        done = run_llmphases("doctor")
        names = {span.name for span in receiver.wait_for_spans(2)}
    assert done.returncode == 0, done.stdout + done.stderr
    assert names == {"llmphases_doctor", "a_test_span"}


def test_an_endpoint_where_nobody_listens_is_found(
    run_llmphases: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://me:SECRET@127.0.0.1:{port}")
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=SECRET")
        done = run_llmphases("doctor")
    assert done.returncode == 1
    assert f"127.0.0.1:{port}" in done.stdout
    assert "refused" in done.stdout
    assert "unset" in done.stdout
    assert "SECRET" not in done.stdout + done.stderr


def test_an_endpoint_that_takes_no_traces_is_found(run_llmphases: Run) -> None:
    with OtlpReceiver() as receiver:
        receiver.status = 400
        done = run_llmphases("doctor", "--endpoint", receiver.url)
    assert done.returncode == 1
    assert "400" in done.stdout


def test_an_impossible_setting_is_named(run_llmphases: Run) -> None:
    done = run_llmphases("doctor", "--endpoint", "nonsense", "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 1
    (settings,) = [f for f in told["findings"] if f["about"] == "settings"]
    assert settings["ok"] is False
    assert "nonsense" in settings["text"]


def test_what_is_switched_off_is_said(run_llmphases: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    done = run_llmphases("doctor")
    assert done.returncode == 1
    assert "OTEL_SDK_DISABLED" in done.stdout


@pytest.mark.parametrize("setting", ["OTEL_TRACES_SAMPLER=always_off", "OTEL_TRACES_EXPORTER=none"])
def test_a_setting_that_keeps_no_trace_is_found(
    run_llmphases: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    name, _, value = setting.partition("=")
    monkeypatch.setenv(name, value)
    done = run_llmphases("doctor")
    assert done.returncode == 1
    assert "arrived" not in done.stdout
    assert f"Unset {name}" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_sampler_that_keeps_some_is_well(
    run_llmphases: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.1")
    done = run_llmphases("doctor")
    assert done.returncode == 0, done.stdout
    assert "arrived" in done.stdout
