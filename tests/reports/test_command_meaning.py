from __future__ import annotations

from dataclasses import replace

from llmphases.reports.command_meaning import command_meaning
from reports.sample_commands import burst, measured, run


def test_what_can_be_told_apart_is_explained_as_any_call():
    said = command_meaning(measured(run(tool=0.0)))
    assert said.startswith("Each call pays 3.00 s before or around 2.00 s of generation (60 %")
    assert said.endswith("This rests on 1 call only.")


def test_of_a_burst_it_says_how_to_make_the_program_print_as_it_goes():
    said = command_meaning(measured(burst()))
    assert said == (
        "Nothing tells fixed cost and generation apart in 9.70 s of 9.90 s: it printed nothing, or "
        "all at once. Have it print as it goes (claude --output-format stream-json --verbose "
        "--include-partial-messages), or look at its requests with --tap."
    )
    other = replace(measured(burst(executable="other")), is_tapped=True)
    assert command_meaning(other).endswith("Have it print as it goes.")


def test_a_failure_before_the_first_token_is_that_and_no_more():
    one = measured(burst(error_type="2"))
    assert command_meaning(one) == (
        "It failed (exit 2) before a token was seen: what was printed says why."
    )
    two = measured(burst(error_type="SIGKILL"), burst(error_type="SIGKILL"))
    assert command_meaning(two).startswith("Every run failed (SIGKILL) before")


def test_company_that_pays():
    said = command_meaning(measured(run(), together=[run(1.2)] * 4))
    assert said == (
        "Alone each pays 3.00 s of fixed cost for 2.00 s of generation. With 4 at a time "
        "each takes 1.20 times as long: 4 runs took 9.00 s, one after another they would take "
        "30.0 s. So many at once need 600 MiB of memory."
    )


def test_company_that_gains_nothing():
    said = command_meaning(measured(run(), together=[run(3.9)] * 4))
    assert "so that more at once gain nothing" in said


def test_company_in_which_all_failed_is_compared_with_nothing():
    said = command_meaning(measured(run(), together=[run(0.1, error_type="SIGINT")] * 4))
    assert said == (
        "Alone each pays 3.00 s of fixed cost for 2.00 s of generation. With 4 at a time every run "
        "failed: nothing tells what company costs."
    )
    said = command_meaning(measured(burst(error_type="2"), together=[run()] * 4))
    assert said.endswith("what was printed says why.")


def test_company_in_which_some_failed_has_no_sum():
    together = [run(1.2), run(1.2), run(1.2), run(0.1, error_type="1")]
    said = command_meaning(measured(run(), together=together))
    assert said == (
        "Alone each pays 3.00 s of fixed cost for 2.00 s of generation. With 4 at a time each "
        "takes 1.20 times as long, of those that went well (1 of 4 failed). So many at once need "
        "600 MiB of memory."
    )


def test_a_reader_who_left_is_no_failure_of_the_command():
    said = command_meaning(measured(burst(error_type="SIGPIPE"), exit_code=141))
    assert said == (
        "It was ended because the reader of its output had left (SIGPIPE): the times are those "
        "until then."
    )
    said = command_meaning(measured(burst(error_type="SIGPIPE"), burst(error_type="1")))
    assert said.startswith("Every run failed (")


def test_no_run_at_all():
    assert command_meaning(measured()) == "Nothing was recorded."
    assert command_meaning(measured(together=[run()])) == "Nothing was recorded."
