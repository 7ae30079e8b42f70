from __future__ import annotations

import re
import sys

import pytest

from llmphases.analysis.plan import Ceilings
from llmphases.analysis.plan_costs import costs
from llmphases.reports.contract import Paper
from llmphases.reports.plan_text import plan_text
from reports.sample_groups import call
from reports.sample_plans import planned

EXPECTED = """\
156 units on 4 workers   68.0 s a call + 1.90 s a unit

  chunks   waves   units in each    predicted
       1       1             156     6:04 min          ###
       3       1              52     2:47 min          ##
       4       1              39     2:22 min  best    #
       5       2        31 or 32     4:14 min          ##
       8       2        19 or 20     3:30 min          ##
      16       4         9 or 10     5:46 min          ###
      40      10          3 or 4    12:34 min          #######
     156      39               1    45:26 min  today   #########################

  Split into 4 chunks in one wave, of 39 units: 2:22 min. All run at once, and
  pay the 68.0 s of fixed cost at the same time. One call would take 6:04 min.
  Today, 156 chunks in 39 waves: 45:26 min, 19.2 times as long."""


def test_the_story_reads_as_it_should():
    assert plan_text(planned(today=156), Paper(unicode=False)) == EXPECTED


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_paper(width):
    for one in (
        planned(),
        planned(units=9_000_000, today=7),
        planned(held=Ceilings(memory_per_call=2, memory_limit=1)),
    ):
        text = plan_text(one, Paper(width=width))
        assert max(map(len, text.splitlines())) <= width


def test_what_is_done_today_is_in_the_table_even_if_a_ceiling_forbids_it():
    text = plan_text(planned(today=1, held=Ceilings(max_units_per_call=20)), Paper())
    assert re.search(r"^ +1 +1 +156 +6:04 min  today", text, re.MULTILINE)


def test_without_room_for_a_call_there_is_no_table():
    text = plan_text(planned(held=Ceilings(memory_per_call=2, memory_limit=1)), Paper())
    assert "chunks" not in text
    assert "There is no room for one call" in text


def test_it_says_what_recorded_costs_rest_on():
    fitted = costs([call(inference=68 + 1.9 * n, units=n) for n in range(1, 10)])
    text = plan_text(planned(), Paper(), fitted)
    assert "from 9 calls, by a line through how long they took: 68.0 s to 68.0 s" in text
    seen = costs([call(process_startup=68.0, generation=1.9, units=1)])
    text = plan_text(planned(), Paper(), seen)
    assert "from 1 call, whose generation was seen" in text
    assert text.endswith("This rests on 1 call only.")


def test_the_words_are_the_same_with_colours_and_without(monkeypatch):
    painted = plan_text(planned(), Paper(colour=True))
    assert "\x1b[" in painted
    words = [line.rstrip() for line in re.sub(r"\x1b\[[0-9;]*m", "", painted).splitlines()]
    assert words == plan_text(planned(), Paper()).splitlines()
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert plan_text(planned(), Paper(colour=True)) == plan_text(planned(), Paper())
