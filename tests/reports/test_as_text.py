from __future__ import annotations

import re
import sys

import pytest

from llmphases.analysis.split import split
from llmphases.calls import Ended, ProcessUse
from llmphases.reports.as_text import as_text
from llmphases.reports.contract import Paper
from reports.sample_groups import SECOND, call

STORY = [
    call(
        "place_boxes", prompt_build=0.25, process_startup=64.75, time_to_first_token=2.5,
        generation=1.9, post_processing=0.125, process_shutdown=0.375, unattributed=0.125,
        first_token_ns=round(67.5 * SECOND),
    )
] * 24  # fmt: skip
VARIED = [
    *STORY,
    call("summarize", retrieval=0.2, generation=6.5, error_type="TimeoutError", queued_ns=5),
    call("inner", inference=1, nested=True, requests=3, retries=2, ended=Ended.CLOSED),
]

EXPECTED = """\
place_boxes   24 calls, no errors
  duration               p50 70.0 s      p95 70.0 s
  time to first token    p50 67.5 s      p95 67.5 s

                                total    per call   share
  fixed                     27:12 min      68.0 s    97 %  ####################
    prompt_build               6.00 s      250 ms   0.4 %  .
    process_startup         25:54 min      64.8 s    92 %  ###################
    time_to_first_token        60.0 s      2.50 s     4 %  #
    process_shutdown           9.00 s      375 ms   0.5 %  .
    unattributed               3.00 s      125 ms   0.2 %  .
  generation                   45.6 s      1.90 s     3 %  #
  delivery                     3.00 s      125 ms   0.2 %  .
    post_processing            3.00 s      125 ms   0.2 %  .
  tool                              -           -       -
  unsplit                           -           -       -

  Each call pays 68.0 s before or around 1.90 s of generation (97 % fixed, most
  of it process_startup): fewer, fuller calls help; more parallel ones do not."""


def text_of(calls, **paper):
    return as_text(split(calls), Paper(**paper))


def test_the_story_reads_as_it_should():
    assert text_of(STORY, unicode=False) == EXPECTED


def test_several_names_end_with_all_outermost_calls():
    text = text_of(VARIED)
    titles = [line for line in text.splitlines() if line and line[0] != " "]
    assert titles == [
        "place_boxes   24 calls, no errors",
        "summarize   1 call, 1 error (TimeoutError)",
        "inner   1 call (1 inside other calls), no errors",
        "all outermost calls   25 calls, 1 error (TimeoutError)",
    ]


def test_a_first_token_seen_in_some_calls_says_in_how_many():
    text = text_of([STORY[0], call("place_boxes", inference=1)])
    assert "p95 67.5 s        in 1 of 2 calls" in text


def test_a_first_token_that_nobody_saw_is_not_seen():
    assert "time to first token    not seen" in text_of([call(inference=1)])


def test_a_first_token_that_only_inner_calls_saw_is_in_them():
    """Times travel up to the outer call; the stamp of the first token stays with the inner."""
    text = text_of([call(time_to_first_token=1, generation=1)])
    assert "time to first token    in inner calls" in text


def test_a_request_of_its_own_without_a_stamp_is_not_seen():
    text = text_of([call(time_to_first_token=1, generation=1, requests=1)])
    assert "time to first token    not seen" in text


def test_retries_and_waits_are_told():
    text = text_of([call(generation=1, requests=3, retries=2, queued_ns=2 * SECOND)])
    assert "requests               3  2 retries in them" in text
    assert "wait for a worker      p50 2.00 s" in text


def test_what_child_processes_used_is_told():
    use = ProcessUse(
        pid=1, cpu_ns=SECOND, wall_ns=20 * SECOND, memory_peak=180 * 2**20, survivors=1
    )
    text = text_of([call(inference=1, process=use), call(inference=1)])
    assert "memory of its process  p50 180 MiB     max 180 MiB       in 1 of 2 calls" in text
    assert "CPU of its process     5 %  of one core" in text
    assert "left behind            1 process" in text


@pytest.mark.parametrize("width", [40, 44, 45, 46, 50, 65, 66, 80, 100, 120])
def test_no_line_is_wider_than_the_paper(width):
    assert max(map(len, text_of(VARIED, width=width).splitlines())) <= width


def test_without_block_characters_all_is_ascii():
    assert text_of(VARIED, unicode=False).isascii()


def test_colours_change_no_word():
    pytest.importorskip("rich")
    painted = text_of(VARIED, colour=True)
    assert "\x1b[31m" in painted
    bare = re.sub(r"\x1b\[[0-9;]*m", "", painted)
    assert "\n".join(line.rstrip() for line in bare.splitlines()) == text_of(VARIED)


def test_without_rich_the_words_are_the_same(monkeypatch):
    for module in [name for name in sys.modules if name.partition(".")[0] == "rich"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "rich", None)
    assert text_of(VARIED, colour=True) == text_of(VARIED)


def test_a_name_is_no_markup_and_no_command_for_the_terminal():
    odd = call("[red]a[/]\x1b[2J", generation=1, error_type="\x1b[1m")
    for colour in (False, True):
        text = text_of([odd], colour=colour)
        assert "[red]a[/]\\x1b[2J" in text
        assert "\x1b[2J" not in text


def test_no_calls_are_an_empty_text():
    assert text_of([]) == ""
