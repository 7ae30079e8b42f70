from __future__ import annotations

import pytest

from llmphases.reports.meaning import meaning
from reports.sample_groups import call, group


def several(**times):
    return group(*[call(**times) for _ in range(8)])


def test_mostly_fixed_cost_asks_for_fewer_fuller_calls():
    assert meaning(several(process_startup=68, generation=1.9)) == (
        "Each call pays 68.0 s before or around 1.90 s of generation (97 % fixed, most of it "
        "process_startup): fewer, fuller calls help; more parallel ones do not."
    )


def test_where_no_part_is_most_of_the_fixed_cost_none_is_named():
    found = meaning(several(process_startup=5, retrieval=5, generation=1))
    assert "(91 % fixed):" in found


def test_what_no_phase_covers_may_be_most_of_the_fixed_cost():
    found = meaning(several(time_to_first_token=1, unattributed=5, generation=1))
    assert "(86 % fixed, most of it unattributed):" in found


def test_mostly_generation_asks_for_shorter_answers():
    found = meaning(several(time_to_first_token=1, generation=9))
    assert found.startswith("Most of each call is generation: 9.00 s, with 1.00 s of fixed cost")
    assert "shorter answers" in found
    assert "fuller calls do not" in found


def test_half_and_half_says_what_helps_which_half():
    found = meaning(several(time_to_first_token=5, generation=5))
    assert "50 % fixed" in found
    assert "fuller calls save the one, shorter answers" in found


def test_time_that_cannot_be_told_apart_is_not_explained():
    assert meaning(several(inference=9.7, process_shutdown=0.2)) == (
        "Nothing tells fixed cost and generation apart in 9.70 s of each call's 9.90 s: stream "
        "the answer, or mark its first token, and look again."
    )


def test_a_few_calls_told_apart_do_not_speak_for_a_long_rest():
    calls = [call(time_to_first_token=1, generation=1)] + [call(inference=20)] * 9
    assert meaning(group(*calls)).startswith("Nothing tells")


def test_calls_that_speak_for_the_others_are_counted():
    calls = [call(time_to_first_token=9, generation=1)] * 9 + [call(inference=9)]
    found = meaning(group(*calls))
    assert found.endswith("This rests on the 9 of 10 calls that tell the two apart.")


@pytest.mark.parametrize(("calls", "warns"), [(1, "1 call only."), (4, "4 calls only."), (5, "")])
def test_few_calls_are_a_reservation(calls, warns):
    found = meaning(group(*[call(time_to_first_token=9, generation=1)] * calls))
    assert found.endswith(f"This rests on {warns}") if warns else "rests" not in found


def test_tools_that_take_most_of_the_time_come_first():
    assert meaning(several(time_to_first_token=1, generation=1, tool=8)) == (
        "Tools take 8.00 s of each call's 10.0 s: look at them first, not at the model."
    )


def test_a_slow_consumer_comes_first():
    assert meaning(several(time_to_first_token=1, generation=1, transmission=8)).startswith(
        "Whoever takes the answer spends 8.00 s of each call's 10.0 s"
    )


def test_cache_hits_are_no_generation():
    assert meaning(several(cache_lookup=0.02)) == (
        "No generation was seen: each call is 20.0 ms of fixed cost."
    )


def test_calls_that_all_failed_say_so():
    calls = [call(retry=3, error_type="APITimeoutError")] * 6
    assert meaning(group(*calls)) == "Every call failed before its first token, after 3.00 s."


def test_no_time_is_not_explained():
    assert meaning(several()) == "There is no time here to explain."
