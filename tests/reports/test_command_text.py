from __future__ import annotations

import pytest

from llmphases.reports.command_text import command_text
from llmphases.reports.contract import Paper
from reports.sample_commands import burst, measured, run


def test_one_run():
    text = command_text(measured(run()), Paper(width=80, unicode=False))
    assert text.splitlines()[:15] == [
        "claude   7.50 s, exit 0",
        "",
        "  start-up              1.20 s     16 %  #####",
        "  first token           1.30 s     17 %  #####",
        "  generation            2.00 s     27 %  ########",
        "  tools                 2.50 s     33 %  ##########",
        "  exit                  500 ms      7 %  ##",
        "",
        "  first token after   2.00 s  from its start",
        "  fixed : generation  3.00 s : 2.00 s  60 % fixed",
        "  tokens              1,200 in, 80 out",
        "  peak memory         150 MiB  at least",
        "  CPU                 10 %  of one core",
        "",
        "  Each call pays 3.00 s before or around 2.00 s of generation (60 % fixed):",
    ]


def test_what_was_not_seen_is_a_dash():
    text = command_text(measured(burst(), exit_code=3), Paper(unicode=False))
    assert text.splitlines()[:7] == [
        "claude   9.90 s, exit 3",
        "",
        "  start-up                   -        -",
        "  first token                -        -",
        "  generation                 -        -",
        "  not told apart        9.70 s     98 %  #############################",
        "  exit                  200 ms      2 %  #",
    ]
    assert "fixed : generation" not in text


def test_several_runs_alone_and_at_once():
    found = measured(run(), run(1.1), run(1.2), together=[run(1.5)] * 4)
    assert command_text(found, Paper()).splitlines()[:16] == [
        "claude   3 runs one at a time, 4 with 4 at a time, none failed",
        "",
        "                      alone     least - most  4 at once     least - most",
        "  start-up           1.32 s    1.20 - 1.44 s     1.80 s    1.80 - 1.80 s  1.36 x",
        "  first token        1.43 s    1.30 - 1.56 s     1.95 s    1.95 - 1.95 s  1.36 x",
        "  generation         2.20 s    2.00 - 2.40 s     3.00 s    3.00 - 3.00 s  1.36 x",
        "  tools              2.75 s    2.50 - 3.00 s     3.75 s    3.75 - 3.75 s  1.36 x",
        "  exit               550 ms     500 - 600 ms     750 ms     750 - 750 ms  1.36 x",
        "",
        "  whole run          8.25 s    7.50 - 9.00 s     11.2 s    11.2 - 11.2 s  1.36 x",
        "  to first token     2.20 s    2.00 - 2.40 s     3.00 s    3.00 - 3.00 s  1.36 x",
        "  fixed              3.30 s    3.00 - 3.60 s     4.50 s    4.50 - 4.50 s  1.36 x",
        "  fixed share          60 %        60 - 60 %       60 %        60 - 60 %",
        "  peak memory       150 MiB    150 - 150 MiB    150 MiB    150 - 150 MiB",
        "  CPU                  10 %        10 - 10 %       10 %        10 - 10 %",
        "",
    ]


def test_failures_in_company_have_times_but_no_factor():
    text = command_text(measured(run(), together=[run(0.1, error_type="SIGINT")] * 4), Paper())
    assert "  whole run          7.50 s    7.50 - 7.50 s     750 ms     750 - 750 ms\n" in text
    assert " x\n" not in text


def test_several_runs_alone():
    text = command_text(measured(run(), run(2.0, error_type="1")), Paper())
    assert text.startswith("claude   2 runs one at a time, 1 failed\n")
    assert "at once" not in text


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
@pytest.mark.parametrize("colour", [False, True])
def test_any_paper(width, colour):
    """No line is wider than it, but for papers on which nobody could read."""
    several = [measured(run(), run(1.1)), measured(run(), together=[run(1.5)] * 16, workers=16)]
    for found in (measured(run()), measured(burst(executable="x")), *several):
        text = command_text(found, Paper(width=width, colour=colour))
        assert ("\x1b[" in text) is colour
        if not colour:
            assert max(map(len, text.splitlines())) <= max(width, 40)


def test_on_narrow_paper_there_are_medians_alone():
    found = measured(run(), run(1.1), together=[run(1.5)] * 4)
    assert command_text(found, Paper(width=40)).splitlines()[:6] == [
        "claude",
        "  2 runs one at a time, 4 with 4 at a",
        "  time, none failed",
        "",
        "                      alone  4 at once",
        "  start-up           1.26 s     1.80 s",
    ]


def test_no_run_at_all():
    assert command_text(measured(), Paper()) == (
        "claude   not known, exit 0\n\n  Nothing was recorded."
    )
