from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from llmphases import conventions as names
from llmphases.cli.main import main
from llmphases.phases import Phase
from sources.trace_lines import WrittenCall, box_call, line_of, raw_span


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(name, *lines):
    Path(name).write_text("".join(lines), "utf-8")
    return name


@pytest.fixture
def story():
    return write("story.jsonl", *[line_of(*box_call(at_s=70.0 * n).spans()) for n in range(6)])


def report(capsys, *arguments):
    """Exit status, stdout and stderr."""
    status = main(["report", *arguments])
    return status, *capsys.readouterr()


def test_the_story_is_told(story, capsys):
    """About 68 s of fixed cost for 1.9 s of generation."""
    status, out, err = report(capsys, story)
    assert (status, err) == (0, "")
    assert out.startswith("place_boxes   6 calls, no errors\n")
    assert "Each call pays 68.0 s before or around 1.90 s of generation (97 % fixed" in out
    assert "generation rate        50.0 tokens/s" in out


def test_the_same_as_json(story, capsys):
    status, out, err = report(capsys, story, "--json")
    assert (status, err) == (0, "")
    document = json.loads(out)
    assert document["calls"] == 6
    (group,) = document["groups"]
    assert group["fixed_s"]["mean"] == pytest.approx(68.0)
    assert group["generation_s"]["total"] == pytest.approx(6 * 1.9)
    assert group["fixed_share"] == pytest.approx(68 / 69.9)


def test_several_files_are_one_job(story, capsys):
    other = write("other.jsonl", line_of(*box_call().spans()))
    assert "place_boxes   7 calls" in report(capsys, story, other)[1]


def test_standard_input_is_a_dash(monkeypatch, capsys):
    text = line_of(*box_call().spans()).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    assert "place_boxes   1 call," in report(capsys, "-")[1]


def test_without_a_file_the_usual_one_is_read(story, capsys):
    write(names.DEFAULT_FILE, line_of(*box_call().spans()))
    assert "place_boxes   1 call," in report(capsys)[1]


def test_the_usual_file_is_the_one_that_is_written(story, monkeypatch, capsys):
    monkeypatch.setenv(names.ENV_FILE, story)
    assert "place_boxes   6 calls" in report(capsys)[1]


def test_without_any_file_it_says_what_to_do(capsys):
    status, out, err = report(capsys)
    assert (status, out) == (2, "")
    assert names.DEFAULT_FILE in err
    assert "give the file" in err


def test_only_calls_of_a_name(story, capsys):
    more = write("more.jsonl", line_of(*WrittenCall("b", [(Phase.GENERATION, 1.0)]).spans()))
    _, out, _ = report(capsys, story, more, "--name", "b")
    assert out.startswith("b   1 call,")
    assert "place_boxes" not in out
    _, out, _ = report(capsys, story, more, "--name", "b", "--name", "place_boxes")
    assert "all outermost calls   7 calls" in out


def test_a_name_that_no_call_has_is_answered_with_the_names_there_are(story, capsys):
    status, out, err = report(capsys, story, "--name", "boxes")
    assert (status, out) == (2, "")
    assert "'boxes'" in err
    assert "'place_boxes'" in err


@pytest.fixture
def two_runs():
    """Three calls of an earlier program, two of a later one."""
    calls = [line_of(*box_call(at_s=70.0 * n).spans(), process="a" * (n < 3) or "b")
             for n in range(5)]  # fmt: skip
    return write("runs.jsonl", *calls)


def test_several_runs_in_a_file_are_not_mixed_silently(two_runs, capsys):
    _, out, _ = report(capsys, two_runs)
    assert out.startswith(
        "5 calls from 2 runs (--last-run: the newest only)\n\nplace_boxes   5 calls"
    )
    assert json.loads(report(capsys, two_runs, "--json")[1])["runs"] == 2


def test_only_the_last_run(two_runs, capsys):
    status, out, err = report(capsys, two_runs, "--last-run")
    assert (status, err) == (0, "")
    assert out.startswith("place_boxes   2 calls")
    assert json.loads(report(capsys, two_runs, "--json", "--last-run")[1])["runs"] == 1


def test_where_no_run_is_known_the_last_one_is_not_either(story, capsys):
    status, out, err = report(capsys, story, "--last-run")
    assert (status, out) == (2, "")
    assert "service.instance.id" in err


def test_what_was_skipped_is_said_once_on_stderr(capsys):
    other = raw_span("GET", 0, 1, {})
    file = write(
        "mixed.jsonl",
        line_of(*box_call().spans()), '{"resourceMetrics": []}\n', "{bro", "ken\n", line_of(other),
    )  # fmt: skip
    status, out, err = report(capsys, file)
    assert status == 0
    assert err == (
        "llmphases: skipped 1 damaged line, 1 line without traces, 1 span of another library\n"
    )
    assert out.startswith("place_boxes")


def test_a_file_that_holds_nothing_of_a_trace_is_unreadable(capsys):
    status, out, err = report(capsys, write("notes.txt", "Dear all,\n", "hello\n"))
    assert (status, out) == (2, "")
    assert "nothing in notes.txt is a trace (2 damaged lines)" in err


def test_a_trace_without_calls_says_what_was_expected(capsys):
    status, out, err = report(capsys, write("t.jsonl", line_of(raw_span("GET", 0, 1, {}))))
    assert (status, out) == (0, "")
    assert "no calls in t.jsonl" in err


def test_no_calls_as_json_keep_their_shape(capsys):
    file = write("empty.jsonl")
    status, out, _ = report(capsys, file, "--json")
    assert status == 2
    assert json.loads(out)["groups"] == []


def test_an_empty_file_is_nothing_readable(capsys):
    status, out, err = report(capsys, write("empty.jsonl"))
    assert (status, out) == (2, "")
    assert "no calls in empty.jsonl" in err


def test_a_folder_is_unreadable(tmp_path, capsys):
    status, _, err = report(capsys, str(tmp_path))
    assert status == 2
    assert "cannot read" in err


def test_without_the_extra_packages_the_report_is_the_same(story, monkeypatch, capsys):
    _, expected, _ = report(capsys, story)
    for name in [name for name in sys.modules if name.partition(".")[0] in {"rich", "msgspec"}]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "msgspec", None)
    assert report(capsys, story) == (0, expected, "")
