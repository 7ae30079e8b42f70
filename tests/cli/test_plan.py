from __future__ import annotations

import json
import re
from pathlib import Path

import psutil
import pytest

from llmphases import conventions as names
from llmphases.cli.main import main
from llmphases.phases import Phase
from sources.trace_lines import WrittenCall, line_of

STORY = ["--units", "156", "--workers", "4", "--fixed", "68", "--per-unit", "1.9"]
WORK = STORY[:4]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def planned(capsys, *arguments):
    """Exit status, stdout and stderr."""
    status = main(["plan", *arguments])
    return status, *capsys.readouterr()


def document_of(capsys, *arguments):
    status, out, err = planned(capsys, *arguments, "--json")
    assert (status, err) == (0, "")
    return json.loads(out)


def option(document, chunks):
    (one,) = [one for one in document["options"] if one["chunks"] == chunks]
    return one


def test_four_chunks_in_one_wave_take_142_s(capsys):
    best = document_of(capsys, *STORY)["recommended"]
    assert (best["chunks"], best["waves"]) == (4, 1)
    assert best["predicted_s"] == pytest.approx(142.1)


def test_one_call_takes_364_s(capsys):
    assert option(document_of(capsys, *STORY), 1)["predicted_s"] == pytest.approx(364.4)


def test_a_call_for_each_unit_takes_39_waves(capsys):
    assert option(document_of(capsys, *STORY), 156)["waves"] == 39


def test_the_same_for_a_person_in_80_columns(capsys):
    status, out, err = planned(capsys, *STORY, "--today", "156")
    assert (status, err) == (0, "")
    assert re.search(r"^ +4 +1 +39 +2:22 min  best", out, re.MULTILINE)
    assert "Split into 4 chunks in one wave, of 39 units: 2:22 min." in out
    assert "Today, 156 chunks in 39 waves: 45:26 min" in out
    assert max(map(len, out.splitlines())) <= 80


def test_today_is_null_unless_it_is_given(capsys):
    assert document_of(capsys, *STORY)["today"] is None
    today = document_of(capsys, *STORY, "--today", "1")["today"]
    assert (today["chunks"], today["predicted_s"]) == pytest.approx((1, 364.4))


@pytest.mark.parametrize(
    ("given", "limit"),
    [
        (["--max-units-per-call", "20"], "max_units_per_call"),
        (["--memory-per-call", "700MiB", "--memory-limit", "1.5GiB"], "memory"),
        (["--requests-per-minute", "2"], "requests_per_minute"),
    ],
)
def test_what_limits_the_plan_is_named(capsys, given, limit):
    assert document_of(capsys, *STORY, *given)["limits"] == [limit]


def test_calls_that_slow_each_other_down_are_better_fewer(capsys):
    found = document_of(capsys, *STORY, "--contention", "1")
    assert found["recommended"]["chunks"] == 1


def test_without_room_for_one_call_there_is_something_to_see_to(capsys):
    status, out, _ = planned(capsys, *STORY, "--memory-per-call", "2G", "--memory-limit", "1G")
    assert status == 1
    assert "There is no room for one call: it needs 2.00 GiB" in out


def test_the_machine_has_the_memory_that_is_available(capsys):
    total = psutil.virtual_memory().total
    status, out, _ = planned(capsys, *STORY, "--memory-per-call", str(total * 2))
    assert status == 1
    assert "There is no room for one call" in out


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (WORK, "measure one call first (llmphases run -- COMMAND)"),
        ([*WORK, "--fixed", "68"], "measure one call first"),
        ([*STORY, "--from", "x.jsonl"], "give one or the other"),
        ([*STORY, "--name", "boxes"], "which is not given"),
        ([*STORY, "--memory-limit", "1G"], "says nothing without --memory-per-call"),
        ([*STORY, "--today", "157"], "no more chunks than units"),
        (
            ["--units", "2000000", *STORY[2:], "--max-units-per-call", "1"],
            "more than 100,000 chunks",
        ),
        (["--units", "2000000", "--workers", "2000000", *STORY[4:]], "or fewer workers"),
    ],
)
def test_what_cannot_be_planned_says_what_to_do(capsys, given, said):
    status, out, err = planned(capsys, *given)
    assert (status, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    "wrong",
    [
        ["--units", "0"], ["--units", "1.5"], ["--workers", "-1"], ["--fixed", "nan"],
        ["--per-unit", "inf"], ["--fixed", "-1"], ["--memory-per-call", "much"],
        ["--memory-per-call", "0"], ["--memory-per-call", "9" * 400], ["--contention", "x"],
        ["--contention", "1e300"], ["--fixed", "1e300"], ["--units", "9" * 400],
    ],
)  # fmt: skip
def test_numbers_that_are_none_are_refused(capsys, wrong):
    with pytest.raises(SystemExit) as leaving:
        main(["plan", *STORY, *wrong])
    assert leaving.value.code == 2
    assert "expected" in capsys.readouterr().err


# --- from recorded calls --------------------------------------------------------------------
def write(name, *calls):
    Path(name).write_text("".join(line_of(*call.spans()) for call in calls), "utf-8")
    return name


def recorded(units, phases, name="place_boxes", **extra):
    said = {} if units is None else {names.UNITS: units}
    return WrittenCall(name, phases, extra=said | extra)


def streamed(units, **more):
    phases = [(Phase.PROCESS_STARTUP, 68.0), (Phase.GENERATION, 1.9 * units)]
    return recorded(units, phases, **more)


def silent(units, **more):
    return recorded(units, [(Phase.INFERENCE, 68 + 1.9 * units)], **more)


def test_one_call_whose_generation_was_seen_is_enough(capsys):
    file = write("t.jsonl", streamed(10))
    found = document_of(capsys, *WORK, "--from", file)
    assert (found["fixed_s"], found["per_unit_s"]) == pytest.approx((68, 1.9))
    assert found["recommended"]["predicted_s"] == pytest.approx(142.1)
    assert found["recorded"]["calls"] == 1


def test_silent_calls_of_different_sizes_tell_by_how_long_they_took(capsys):
    one = write("a.jsonl", *map(silent, range(1, 6)))
    two = write("b.jsonl", *map(silent, range(10, 15)))
    status, out, err = planned(capsys, *WORK, "--from", one, "--from", two)
    assert (status, err) == (0, "")
    assert "from 10 calls, by a line through how long they took: 68.0 s to 68.0 s" in out
    assert "2:22 min" in out


def test_the_memory_of_a_call_is_what_was_seen(capsys):
    seen = streamed(10, **{names.PROCESS_MEMORY_PEAK: 2**30, names.PROCESS_PID: 7})
    file = write("t.jsonl", seen)
    found = document_of(capsys, *WORK, "--from", file, "--memory-limit", "2.5G")
    assert (found["at_once"], found["limits"]) == (2, ["memory"])


def test_other_calls_around_them_do_not_matter(capsys):
    other = recorded(None, [(Phase.INFERENCE, 500.0)], "job")
    file = write("t.jsonl", other, streamed(10))
    assert document_of(capsys, *WORK, "--from", file)["fixed_s"] == pytest.approx(68)


def test_of_several_names_one_has_to_be_chosen(capsys):
    other = recorded(3, [(Phase.PROCESS_STARTUP, 1.0), (Phase.GENERATION, 3.0)], "summarize")
    file = write("t.jsonl", other, streamed(10))
    status, _, err = planned(capsys, *WORK, "--from", file)
    assert status == 2
    assert "give --name: ['place_boxes', 'summarize']" in err
    found = document_of(capsys, *WORK, "--from", file, "--name", "summarize")
    assert (found["fixed_s"], found["per_unit_s"]) == pytest.approx((1, 1))


@pytest.mark.parametrize(
    ("calls", "said"),
    [
        ([recorded(None, [(Phase.INFERENCE, 70.0)])] * 9, "call.units(n)"),
        ([silent(n) for n in (1, 2, 3)], "3 of them went well"),
        ([silent(10) for _ in range(9)], "all 9 of them have nearly as many units"),
        (
            [recorded(n, [(Phase.INFERENCE, 90.0 - n)]) for n in range(1, 20)],
            "larger ones do not take longer",
        ),
    ],
)
def test_calls_that_do_not_tell_are_no_ground_for_a_plan(capsys, calls, said):
    status, out, err = planned(capsys, *WORK, "--from", write("t.jsonl", *calls))
    assert (status, out) == (2, "")
    assert said in err


def test_a_file_that_is_not_there_is_a_complaint(capsys):
    status, out, err = planned(capsys, *WORK, "--from", "nowhere.jsonl")
    assert (status, out) == (2, "")
    assert "nowhere.jsonl" in err
