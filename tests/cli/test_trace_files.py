from __future__ import annotations

import io
import sys

import pytest

from llmphases import conventions as names
from llmphases.cli.exits import UsageError
from llmphases.cli.trace_files import default_file, named, read_traces
from llmphases.errors import UnreadableSourceError
from sources.trace_lines import box_call, line_of


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(path):
    path.write_text(line_of(*box_call().spans()), "utf-8")
    return str(path)


def test_files_and_standard_input_are_one_job(tmp_path, monkeypatch):
    text = line_of(*box_call().spans()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert len(read_traces([written(tmp_path / "a.jsonl"), "-"]).calls) == 2


def test_what_is_no_trace_is_not_taken_for_an_empty_one(tmp_path):
    (tmp_path / "log.jsonl").write_text('{"message": "hello"}\n')
    with pytest.raises(UnreadableSourceError, match="expected OTLP JSON lines"):
        read_traces(["log.jsonl"])


def test_the_usual_file_is_the_one_that_the_environment_names(tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="no FILE given"):
        default_file()
    written(tmp_path / names.DEFAULT_FILE)
    assert default_file() == names.DEFAULT_FILE
    monkeypatch.setenv(names.ENV_FILE, written(tmp_path / "other.jsonl"))
    assert default_file() == str(tmp_path / "other.jsonl")


def test_calls_are_chosen_by_name_and_a_wrong_name_is_answered_with_those_there_are(tmp_path):
    calls = read_traces([written(tmp_path / "a.jsonl")]).calls
    assert named(calls, ["place_boxes"]) == list(calls)
    with pytest.raises(UsageError, match="the names here are: 'place_boxes'"):
        named(calls, ["boxes"])
