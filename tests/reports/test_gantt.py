"""Bars over time: which row a call stands in, which phase each cell shows, and what explains it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmphases.calls import Call, Stretch
from llmphases.phases import Cost, Phase
from llmphases.reports.contract import Paper
from llmphases.reports.gantt import MARKS, Bars, gantt

SECOND = 1_000_000_000
NOON = 1_780_000_000 * SECOND
NARROW = Paper(width=42)
"""Forty cells."""


def call(at_s, *phases, name="ask", **more):
    """A call of phases in a row, `(phase, seconds)`; a phase that is None has no stretch."""
    stretches, at_ns = [], 0
    exclusive = {}
    for phase, seconds in phases:
        end_ns = at_ns + round(seconds * SECOND)
        if phase is not None:
            stretches.append(Stretch(phase=phase, start_ns=at_ns, end_ns=end_ns))
            exclusive[phase] = exclusive.get(phase, 0) + end_ns - at_ns
        at_ns = end_ns
    rest = at_ns - sum(exclusive.values())
    return Call(
        name=name,
        start_unix_ns=NOON + round(at_s * SECOND),
        duration_ns=at_ns,
        exclusive_ns=exclusive,
        unattributed_ns=rest,
        unattributed_cost=Cost.FIXED if rest else Cost.UNSPLIT,
        stretches=tuple(stretches),
        **more,
    )


def ask(at_s=0.0, fixed=1.0, generation=1.0):
    return call(at_s, (Phase.PROCESS_STARTUP, fixed), (Phase.GENERATION, generation))


def rows(*jobs, paper=NARROW, **more):
    """The lines between the first title and the scale."""
    return gantt(jobs, paper, **more).splitlines()[1:-2]


def test_a_job_is_a_title_its_rows_a_scale_and_what_the_marks_mean():
    assert gantt([Bars("two calls", [ask(), ask(2.0)])], NARROW).splitlines() == [
        "two calls                           4.00 s",
        "  ░░░░░░░░░░██████████░░░░░░░░░░██████████",
        "  0 s       1 s       2 s       3 s",
        "  ░ process_startup  █ generation",
    ]


def test_all_jobs_are_on_one_scale_each_from_its_own_start():
    text = gantt([Bars("long", [ask()]), Bars("short", [ask(100.0, 0.5, 0.5)])], NARROW)
    assert text.splitlines()[:4] == [
        "long                                2.00 s",
        "  ░░░░░░░░░░░░░░░░░░░░████████████████████",
        "short                               1.00 s",
        "  ░░░░░░░░░░██████████",
    ]


def test_calls_at_once_stand_below_each_other_and_the_next_takes_the_first_free_row():
    job = Bars("waves", [ask(2.0), ask(), ask(0.0, 1.0, 2.0), ask(3.0, 0.5, 0.5)])
    assert rows(job) == [
        "  ░░░░░░░░░░██████████░░░░░░░░░░██████████",
        "  ░░░░░░░░░░████████████████████░░░░░█████",
    ]


def test_on_request_each_call_has_its_row():
    assert rows(Bars("waves", [ask(), ask(2.0)]), per_call=True) == [
        "  ░░░░░░░░░░██████████",
        "                      ░░░░░░░░░░██████████",
    ]


def test_calls_of_one_worker_may_seem_to_overlap_a_little():
    """Each call reads the wall clock for itself."""
    assert len(rows(Bars("waves", [ask(), ask(1.999_95)]))) == 1
    assert len(rows(Bars("waves", [ask(), ask(1.99)]))) == 2


def test_a_call_that_begins_as_the_one_before_it_ends_is_cut_off():
    whole = call(0.0, (Phase.INFERENCE, 2.0)), call(2.0, (Phase.INFERENCE, 2.0))
    assert rows(Bars("unsplit", whole)) == ["  ▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓|▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓▓"]


def test_what_was_opened_last_is_what_is_seen():
    outer = Stretch(phase=Phase.GENERATION, start_ns=0, end_ns=4 * SECOND)
    stall = Stretch(phase=Phase.TRANSMISSION, start_ns=SECOND, end_ns=2 * SECOND)
    inner = Stretch(phase=Phase.TOOL, start_ns=3 * SECOND, end_ns=4 * SECOND)
    one = Call(
        name="ask", start_unix_ns=NOON, duration_ns=4 * SECOND, stretches=(outer, inner),
        stalls=(stall,), exclusive_ns={Phase.GENERATION: 2 * SECOND, Phase.TOOL: SECOND,
        Phase.TRANSMISSION: SECOND},
    )  # fmt: skip
    assert rows(Bars("layers", [one])) == ["  ██████████tttttttttt██████████TTTTTTTTTT"]


def test_time_of_no_phase_has_a_mark_of_its_own():
    text = gantt([Bars("gap", [call(0.0, (None, 1.0), (Phase.GENERATION, 1.0))])], NARROW)
    assert text.splitlines()[1] == "  --------------------████████████████████"
    assert text.splitlines()[-1] == "  █ generation  - no phase"


def test_a_call_too_short_for_a_cell_is_seen():
    job = Bars("short ones", [ask(0.0, 2.0, 2.0), call(1.01, (Phase.GENERATION, 0.001))])
    assert rows(job)[1] == "            █"


def test_a_call_of_no_length_at_the_very_end_is_inside():
    job = Bars("ends", [call(0.0, (Phase.TOOL, 4.0)), call(4.0)])
    assert rows(job, per_call=True) == ["  " + "T" * 40, " " * 41 + "-"]


def test_many_rows_are_cut_and_counted():
    calls = [ask() for _ in range(20)]
    found = rows(Bars("wide", calls))
    assert len(found) == 17
    assert found[-1] == "  and 4 more rows"


@pytest.mark.parametrize("jobs", [[], [Bars("nothing", [])], [Bars("no time", [call(0.0)])]])
def test_without_time_there_is_no_picture(jobs):
    assert gantt(jobs) == ""


def test_a_job_without_calls_beside_one_with_some_is_an_empty_title():
    text = gantt([Bars("none", []), Bars("some", [ask()])], NARROW)
    assert text.splitlines()[0] == "none                                   0 s"


def test_paper_without_block_characters_gets_others():
    text = gantt(
        [Bars("plain", [ask()])], Paper(width=42, unicode=False)
    )  # fmt: skip
    assert text.isascii()
    assert text.splitlines()[1] == "  ::::::::::::::::::::####################"
    assert text.splitlines()[-1] == "  : process_startup  # generation"


def test_colours_are_those_of_the_costs_and_the_words_stay_the_same():
    pytest.importorskip("rich")
    job = Bars("colours", [ask()])
    painted = gantt([job], Paper(width=42, colour=True))
    assert "\x1b[31m" in painted
    assert "\x1b[32m" in painted
    bare = painted
    for code in ("0", "1", "2", "31", "32"):
        bare = bare.replace(f"\x1b[{code}m", "")
    assert [line.rstrip() for line in bare.splitlines()] == gantt([job], NARROW).splitlines()


def test_a_title_cannot_speak_to_the_terminal():
    assert "\x1b" not in gantt([Bars("\x1b[2Jboo", [ask()])], NARROW)


def test_a_title_too_long_is_cut():
    title = gantt([Bars("word " * 20, [ask()])], NARROW).splitlines()[0]
    assert title == "word word word word word word w...  2.00 s"


def test_every_phase_has_a_mark_of_its_own_on_every_paper():
    assert set(MARKS) == {*Phase, None}
    assert len(set(MARKS.values())) == len(MARKS)
    plain = [gantt([Bars("a", [call(0.0, (p, 1.0))])], Paper(unicode=False)) for p in Phase]
    assert len({text.splitlines()[1] for text in plain}) == len(Phase)


def test_a_long_key_is_broken():
    phases = [(phase, 1.0) for phase in Phase]
    lines = gantt([Bars("all", [call(0.0, *phases)])], NARROW).splitlines()
    assert max(map(len, lines)) <= 42
    assert all(any(phase.value in line for line in lines) for phase in Phase)


@pytest.mark.parametrize(
    ("seconds", "scale"),
    [
        (0.004, "  0 s       0.001 s   0.002 s   0.003 s"),
        (364.0, "  0 s        100 s      200 s      300 s"),
        (10.0, "  0 s                 5 s"),
        (1.0, "  0 s                 0.5 s"),
    ],
)
def test_the_scale_has_round_times(seconds, scale):
    text = gantt([Bars("a", [call(0.0, (Phase.INFERENCE, seconds))])], NARROW)
    assert text.splitlines()[-2] == scale


seconds = st.floats(0.0, 100.0)


@given(
    st.lists(st.tuples(seconds, seconds, seconds), min_size=1, max_size=30),
    st.integers(20, 200),
    st.booleans(),
)
def test_whatever_the_calls_nothing_is_wider_than_the_paper(calls, width, per_call):
    job = Bars("any", [ask(*times) for times in calls])
    lines = gantt([job], Paper(width=width), per_call=per_call).splitlines()
    assert all(len(line) <= max(width, 40) for line in lines)
    if lines:
        assert all(line.strip() for line in lines)
