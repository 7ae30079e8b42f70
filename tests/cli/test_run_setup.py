from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

from llmphases import llm_call
from llmphases.capture import current
from llmphases.cli import run_setup
from llmphases.conventions import ENV_FILE
from llmphases.errors import ConfigurationError


@pytest.fixture
def configured(monkeypatch):
    """What `configure` is told, which does nothing here; the environment says nothing."""
    for name in list(os.environ):
        if name.startswith("OTEL_") or name in {ENV_FILE, "TRACEPARENT"}:
            monkeypatch.delenv(name)
    told = []
    monkeypatch.setattr("llmphases.configure", lambda **given: told.append(given))
    variable = current.wired().carrier.variable
    before = variable.get()
    yield told
    variable.set(before)


def test_nothing_is_set_up_that_nobody_asked_for(configured):
    run_setup.set_up(None)
    assert configured == []


def test_a_file_to_save_to(configured):
    run_setup.set_up("t.jsonl")
    (told,) = configured
    assert (told["file"], told["endpoint"], told["traces"]) == ("t.jsonl", None, True)
    assert told["sigterm"] is False


@pytest.mark.parametrize(
    ("name", "traces"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", True),
        ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", True),
        ("OTEL_TRACES_EXPORTER", True),
        (ENV_FILE, True),
        ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", False),
    ],
)
def test_what_the_environment_asks_for_and_no_file_besides(name, traces, configured, monkeypatch):
    monkeypatch.setenv(name, "http://localhost:4318")
    run_setup.set_up(None)
    (told,) = configured
    assert (told["file"], told["endpoint"], told["traces"]) == (None, None, traces)


def test_an_endpoint_gets_what_is_saved_as_well(configured, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://localhost:4318")
    run_setup.set_up("t.jsonl")
    assert configured[0]["endpoint"] == "http://localhost:4318"


def test_a_service_has_the_name_it_was_given(configured, monkeypatch):
    run_setup.set_up("t")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "mine")
    run_setup.set_up("t")
    assert [told["service_name"] for told in configured] == ["llmphases-run", None]


def test_with_the_sdk_disabled_it_is_measured_all_the_same(configured, monkeypatch):
    """RC-085"""
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    current.wire(None)
    run_setup.set_up(None)
    with llm_call("asked") as call:
        pass
    assert call.record is not None


def test_what_cannot_be_is_raised(monkeypatch, configured):
    def refuse(**given):
        raise ConfigurationError("no")

    monkeypatch.setattr("llmphases.configure", refuse)
    with pytest.raises(ConfigurationError):
        run_setup.set_up("t")


def test_a_parent_in_the_environment_is_gone_on_from(configured, monkeypatch):
    parent = f"00-{'1' * 32}-{'2' * 16}-01"
    monkeypatch.setenv("TRACEPARENT", parent)
    run_setup.set_up(None)
    carrier = current.wired().carrier
    assert carrier.inject(carrier.variable.get())["traceparent"] == parent


ASKED = """
import os, sys
from llmphases.cli import run_setup
run_setup.keep_standard_descriptors()
os.write(2, repr(run_setup.stdin_for_all()).encode())
"""


def test_stdin_is_read_to_its_end():
    result = subprocess.run(
        [sys.executable, "-c", ASKED], input=b"\xffab", capture_output=True, check=True
    )
    assert result.stderr == b"b'\\xffab'"


def test_a_closed_stdin_is_empty():
    line = '"$0" -c "$1" <&-'
    result = subprocess.run(
        ["sh", "-c", line, sys.executable, ASKED], capture_output=True, check=True
    )
    assert result.stderr == b"b''"


def test_it_says_what_it_waits_for(monkeypatch, capsys):
    reading, writing = os.pipe()
    monkeypatch.setattr(run_setup, "_STDIN", reading)
    monkeypatch.setattr(run_setup, "_PATIENCE_S", 0)
    said = []

    def complain(text):
        said.append(text)
        threading.Thread(target=os.close, args=(writing,)).start()

    monkeypatch.setattr(run_setup, "complain", complain)
    assert run_setup.stdin_for_all() == b""
    assert said == ["reading standard input to its end, for every run (< /dev/null: nothing)"]
    os.close(reading)
