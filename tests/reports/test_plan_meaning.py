from __future__ import annotations

import pytest

from llmphases.analysis.plan import Ceilings
from llmphases.reports.plan_meaning import pieces, plan_meaning
from reports.sample_plans import planned


def test_the_story_is_one_wave():
    assert plan_meaning(planned()) == (
        "Split into 4 chunks in one wave, of 39 units: 2:22 min. All run at once, and pay the "
        "68.0 s of fixed cost at the same time. One call would take 6:04 min. More chunks than "
        "run at once pay the fixed cost again in each wave: 156 chunks in 39 waves take 45:26 min."
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"workers": 1},
            "Make one call, of 6:04 min: one runs at a time, and each piece would pay",
        ),
        ({"units": 1}, "Make one call, of 69.9 s: there is one unit."),
        ({"contention": 1.0}, "each other call makes a call 100 % slower, which costs more than"),
        ({"contention": 0.6, "workers": 8}, "More could run at once, but each other call makes"),
        ({"units": 157}, "of 40 units or one less"),
        ({"units": 3}, "3 chunks in one wave, of 1 unit: 69.9 s"),
        ({"per_unit_ns": 0.0}, "what it takes does not depend on the units in it"),
        ({"fixed_ns": 0.0}, "Nothing is paid per call, and every worker is busy."),
    ],
)
def test_it_says_when_splitting_helps_and_when_not(changed, said):
    assert said in plan_meaning(planned(**changed))


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (Ceilings(max_units_per_call=20), "What limits it: 20 units a call."),
        (Ceilings(max_units_per_call=20), "once more, so that full waves waste the least."),
        (
            Ceilings(memory_per_call=2**30, memory_limit=5 * 2**29),
            "What limits it: memory for 2 calls at once.",
        ),
        (Ceilings(requests_per_minute=1), "requests have to wait for the next minute"),
        (Ceilings(requests_per_minute=1), "What limits it: 1 request a minute."),
        (
            Ceilings(memory_per_call=2**30, memory_limit=2**29),
            "There is no room for one call: it needs 1.00 GiB of memory, and 512 MiB may be used.",
        ),
    ],
)
def test_it_says_what_limits_it(held, said):
    assert said in plan_meaning(planned(held=held))


def test_calls_that_only_slow_each_other_down_gain_nothing_by_company():
    text = plan_meaning(planned(contention=1.5, held=Ceilings(max_units_per_call=50)))
    assert "one at a time would be no slower" in text


@pytest.mark.parametrize(
    ("today", "said"),
    [
        (156, "Today, 156 chunks in 39 waves: 45:26 min, 19.2 times as long."),
        (4, "It is done so today."),
        (1, "Today, one call: 6:04 min, 2.56 times as long."),
    ],
)
def test_it_is_held_against_today(today, said):
    assert plan_meaning(planned(today=today)).endswith(said)


def test_where_a_ceiling_forbids_what_is_done_today_that_may_be_no_slower():
    text = plan_meaning(planned(today=4, held=Ceilings(max_units_per_call=20)))
    assert "Today's 4 chunks in one wave would be no slower: 2:22 min." in text


def test_pieces_and_waves_are_told_in_words():
    options = planned().options
    assert [pieces(options[n - 1]) for n in (1, 2, 5)] == [
        "one call", "2 chunks in one wave", "5 chunks in 2 waves",
    ]  # fmt: skip
