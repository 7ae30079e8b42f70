from __future__ import annotations

import pytest

from llmphases.calls import Usage
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
        "Nothing tells fixed cost and generation apart in 9.70 s of each call's 9.90 s: return "
        "the stream, or read it through traced_stream(...), and look again."
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
    assert meaning(group(*calls)) == (
        "Every call failed before a token was seen, after 3.00 s each: look at the errors; if "
        "they are rate limits, fewer calls at once help."
    )


def test_calls_that_failed_without_a_token_are_left_out_and_counted():
    """They would be nothing but fixed cost, and fuller calls are no help against errors."""
    good = [call(time_to_first_token=1, generation=9)] * 8
    found = meaning(group(*good, *[call(retry=30, error_type="RateLimitError")] * 2))
    assert found.startswith("Most of each call is generation: 9.00 s, with 1.00 s of fixed cost")
    assert found.endswith(
        " Left out: 2 of 10 calls that failed before a token was seen, after 60.0 s in all; look "
        "at the errors."
    )


@pytest.mark.parametrize(
    "seen", [{"first_token_ns": 5}, {"generation": 1}, {"usage": Usage(output_tokens=3)}]
)
def test_a_call_that_failed_after_a_token_counts_as_any_other(seen):
    found = meaning(group(*[call(time_to_first_token=1, error_type="X", **seen)] * 5))
    assert "failed" not in found


@pytest.mark.parametrize("part", ["retry", "queue_wait"])
def test_retries_and_waits_ask_for_fewer_at_once(part):
    found = meaning(several(**{part: 9}, time_to_first_token=1, generation=1))
    assert found.endswith(
        f"most of it {part}): look at the errors and rate limits; fewer calls at once help, "
        f"fuller ones do not."
    )


@pytest.mark.parametrize("part", ["retrieval", "prompt_build", "cache_lookup"])
def test_one_s_own_code_is_not_the_model(part):
    found = meaning(several(**{part: 9}, time_to_first_token=1, generation=1))
    assert f"most of it {part}): that is your own code, not the model" in found
    assert "fuller" not in found


def test_parts_of_one_kind_count_together():
    """Neither of the two is as long as the wait for the token; both are one's own code."""
    found = meaning(several(retrieval=3, prompt_build=3, time_to_first_token=4, generation=1))
    assert "91 % fixed): that is your own code" in found


def test_half_own_code_and_half_generation_says_what_helps_which_half():
    found = meaning(several(retrieval=5, generation=5))
    assert "faster code of your own saves the one, shorter answers" in found


def test_post_processing_is_one_s_own_code_too():
    assert meaning(several(time_to_first_token=1, generation=1, post_processing=8)) == (
        "Post-processing takes 8.00 s of each call's 10.0 s: look at that code first, not at the "
        "model."
    )


def test_no_time_is_not_explained():
    assert meaning(several()) == "There is no time here to explain."
