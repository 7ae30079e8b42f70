from __future__ import annotations

import math

import pytest

from llmphases import conventions as names
from llmphases.calls import Usage
from llmphases.phases import Cost, Phase
from llmphases.sources.call_attributes import call_of
from llmphases.sources.contract import SpanRecord
from sources.trace_lines import WrittenCall, box_call


def span(said, **more):
    return SpanRecord(
        trace_id="t", span_id="s", parent_id=None, name="ask",
        start_unix_ns=1000, end_unix_ns=2000, attributes=said, **more,
    )  # fmt: skip


def call_from(written=None, /, **more):
    said = (written or WrittenCall("ask", [(Phase.GENERATION, 1.0)])).attributes()
    return call_of(span({**said, **more}))


def test_the_sums_are_the_attributes_not_the_extents_of_the_span():
    assert call_from().duration_ns == 1_000_000_000


@pytest.mark.parametrize("cost", [Cost.FIXED, Cost.UNSPLIT])
def test_what_no_phase_covers_is_found_in_the_cost_that_holds_it(cost):
    written = WrittenCall("ask", [(Phase.GENERATION, 1.0)], unattributed_s=0.5)
    written.unattributed_cost = cost
    assert call_from(written).unattributed_cost is cost


def test_without_a_rest_it_is_unsplit():
    assert call_from().unattributed_cost is Cost.UNSPLIT


def test_a_whole_number_of_seconds_may_be_written_without_a_point():
    written = WrittenCall("ask", [(Phase.GENERATION, 1.0)])
    assert call_from(written, **{names.phase_duration(Phase.GENERATION): 1}).exclusive_ns == {
        Phase.GENERATION: 1_000_000_000
    }


def test_tokens_that_another_span_tells_stand_under_a_name_of_ours():
    call = call_from(**{names.USAGE_OF_OURS[names.OUTPUT_TOKENS]: 5, names.INPUT_TOKENS: 7})
    assert call.usage == Usage(input_tokens=7, output_tokens=5)


@pytest.mark.parametrize("odd", [math.nan, math.inf, -1.0, "1.0", True, (1.0,)])
def test_a_duration_that_is_none_makes_it_no_call(odd):
    with pytest.raises((KeyError, ValueError, OverflowError)):
        call_from(**{names.cost_duration(Cost.GENERATION): odd})


def test_numbers_that_do_not_add_up_make_it_no_call():
    with pytest.raises(ValueError, match="do not add up"):
        call_from(**{names.cost_duration(Cost.TOOL): 3.0})


def test_a_call_without_a_first_token_has_none_rc_022():
    """Never its duration instead."""
    assert call_from().first_token_ns is None


def test_facts_of_a_wrong_kind_are_unknown():
    call = call_from(
        **{
            names.PROVIDER_NAME: 5,
            names.REQUESTS: "three",
            names.CHUNKS: True,
            names.STREAM_ENDED: "somehow",
            names.CALL_NESTED: "yes",
            names.REPORTED_TRUSTED: "no",
        }
    )
    assert (call.provider, call.requests, call.chunks) == (None, 0, None)
    assert (call.ended, call.nested, call.reported_trusted) == (None, False, None)


def test_usage_is_none_where_nobody_spoke_of_it():
    assert call_from().usage is None
    assert call_from(box_call()).usage.output_tokens == 96


def test_the_program_s_own_attributes_are_told_from_ours():
    call = call_from(
        **{
            "customer": "acme",
            "process.pid": 5,
            "gen_ai.conversation.id": "x",
            names.REPORTED_PREFIX + "load_duration": 7,
            names.REPORTED_TRUSTED: True,
        }
    )
    assert call.attributes == {"customer": "acme", "gen_ai.conversation.id": "x"}
    assert call.reported == {"load_duration": 7}
    assert call.reported_trusted is True


def test_an_error_status_without_a_type_is_an_error_of_another_type():
    said = WrittenCall("ask", [(Phase.GENERATION, 1.0)]).attributes()
    assert call_of(span(said, status_error=True)).error_type == "_OTHER"
    typed = {**said, names.ERROR_TYPE: "TimeoutError"}
    assert call_of(span(typed, status_error=True)).error_type == "TimeoutError"
    assert call_of(span(said)).error_type is None
