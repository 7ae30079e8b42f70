"""The record of a call: its shares and rates, and the way to JSON and back."""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from any_calls import calls
from llmphases.calls import Call, Detail, Stretch, Usage
from llmphases.errors import RecordError
from llmphases.phases import Cost, Phase

S = 1_000_000_000
TTFT, GENERATION = Phase.TIME_TO_FIRST_TOKEN, Phase.GENERATION


def call(exclusive=(), unattributed_ns=0, **more):
    exclusive = dict(exclusive)
    return Call(
        name="boxes",
        start_unix_ns=0,
        duration_ns=sum(exclusive.values()) + unattributed_ns,
        exclusive_ns=exclusive,
        unattributed_ns=unattributed_ns,
        **more,
    )


def streamed(first_s, tokens, seconds_per_token=0.01, *, held_s=0.0, **more):
    """One request, its tokens evenly spaced."""
    length = round((tokens - 1) * seconds_per_token * S)
    held = round(held_s * S)
    first = round(first_s * S)
    exclusive = {TTFT: first, GENERATION: length - held}
    if held:
        exclusive[Phase.TRANSMISSION] = held
    stretches = (
        Stretch(phase=TTFT, start_ns=0, end_ns=first, request=0),
        Stretch(phase=GENERATION, start_ns=first, end_ns=first + length, request=0),
    )
    more = {"usage": Usage(output_tokens=tokens)} | more
    return call(exclusive, stretches=stretches, **more)


# --- costs and shares ---------------------------------------------------------------------------


@given(call=calls("any"))
def test_the_five_costs_are_the_whole_duration(call):
    assert sum(call.cost_ns(cost) for cost in Cost) == call.duration_ns


@given(call=calls("any"))
def test_a_share_is_there_if_and_only_if_fixed_and_generation_can_be_told_apart(call):
    fixed, generation = call.cost_ns(Cost.FIXED), call.cost_ns(Cost.GENERATION)
    if call.cost_ns(Cost.UNSPLIT) or not fixed + generation:
        assert call.fixed_share is None
    else:
        assert call.fixed_share == fixed / (fixed + generation)


def test_unattributed_time_is_paid_as_the_call_says():
    seen = call({GENERATION: 3}, 1, unattributed_cost=Cost.FIXED)
    unseen = call({GENERATION: 3}, 1)
    assert (seen.cost_ns(Cost.FIXED), seen.fixed_share) == (1, 0.25)
    assert (unseen.cost_ns(Cost.UNSPLIT), unseen.fixed_share) == (1, None)


# --- tokens per second --------------------------------------------------------------------------


@pytest.mark.parametrize("tokens", [30, 200, 400])
def test_the_rate_does_not_depend_on_the_fixed_cost_nor_on_the_length(tokens):
    """RC-026"""
    assert streamed(2.0, tokens).tokens_per_second == pytest.approx(100)
    assert streamed(2.0, tokens).cost_ns(Cost.FIXED) == 2 * S


def test_the_first_token_of_each_request_is_not_in_the_rate():
    """RC-025: what the first chunk held is unknown, so it counts as one token."""
    two = call(
        {TTFT: 2 * S, GENERATION: 2 * S},
        stretches=(
            Stretch(phase=GENERATION, start_ns=S, end_ns=2 * S, request=0),
            Stretch(phase=GENERATION, start_ns=3 * S, end_ns=4 * S, request=1),
        ),
        usage=Usage(output_tokens=22),
    )
    assert two.tokens_per_second == 10


@pytest.mark.parametrize("usage", [None, Usage(), Usage(input_tokens=5), Usage(output_tokens=1)])
def test_without_tokens_after_the_first_there_is_no_rate(usage):
    """RC-025: chunks are no tokens."""
    assert streamed(1.0, 50, usage=usage, chunks=50).tokens_per_second is None


def test_all_tokens_at_once_have_no_rate():
    assert streamed(1.0, 50, seconds_per_token=0).tokens_per_second is None


def test_a_consumer_that_takes_more_than_a_tenth_makes_the_rate_its_own():
    assert streamed(1.0, 101, held_s=0.1).tokens_per_second == pytest.approx(100)
    assert streamed(1.0, 101, held_s=0.101).tokens_per_second is None


def test_a_consumer_that_waits_before_the_first_token_does_not_spoil_the_rate():
    early = streamed(1.0, 101)
    exclusive = {TTFT: S // 2, Phase.TRANSMISSION: S // 2, GENERATION: S}
    early = dataclasses.replace(early, exclusive_ns=exclusive)
    assert early.tokens_per_second == pytest.approx(100)


def test_requests_at_the_same_time_have_a_rate_each():
    """Their generations share instants; that is not a consumer's doing."""
    both = call(
        {TTFT: S, GENERATION: 2 * S},
        stretches=tuple(
            Stretch(phase=GENERATION, start_ns=S, end_ns=3 * S, request=n) for n in (0, 1)
        ),
        usage=Usage(output_tokens=402),
    )
    assert both.tokens_per_second == 100


def test_tokens_of_a_request_that_cannot_be_split_spoil_the_rate():
    mixed = streamed(1.0, 101)
    whole = Stretch(phase=Phase.INFERENCE, start_ns=2 * S, end_ns=3 * S, request=1)
    mixed = dataclasses.replace(mixed, stretches=(*mixed.stretches, whole))
    assert mixed.tokens_per_second is None


# --- usage --------------------------------------------------------------------------------------


def test_usage_adds_up_and_what_nobody_said_stays_unknown():
    total = Usage(input_tokens=1, output_tokens=2) + Usage(input_tokens=3)
    assert total == Usage(input_tokens=4, output_tokens=2)
    assert bool(total)
    assert not Usage()
    assert Usage(input_tokens=0)


# --- as exported --------------------------------------------------------------------------------


@given(call=calls("any"))
def test_what_is_exported_once_is_exported_the_same_again(call):
    exported = call.as_exported()
    assert exported.as_exported() == exported
    assert exported.exclusive_ns == call.exclusive_ns
    assert exported.duration_ns == call.duration_ns
    for many in (exported.stretches, exported.stalls, exported.details):
        assert all(piece.drawn is not None for piece in many)
        assert [(p.start_ns, p.end_ns) for p in many] == sorted(
            (p.start_ns, p.end_ns) for p in many
        )


def test_spans_cannot_tell_how_no_time_at_all_would_have_been_paid():
    nothing_left = call({TTFT: 1}, unattributed_cost=Cost.FIXED)
    assert nothing_left.as_exported().unattributed_cost is Cost.UNSPLIT
    something_left = call({TTFT: 1}, 1, unattributed_cost=Cost.FIXED)
    assert something_left.as_exported().unattributed_cost is Cost.FIXED


def test_details_and_stalls_are_exported_in_order():
    """Steps are recorded in the order of their end."""
    details = tuple(
        Detail(name=name, cost=Cost.FIXED, start_ns=0, end_ns=1, drawn=drawn)
        for name, drawn in [("inside", (20, 30)), ("outside", (10, 40))]
    )
    assert [d.name for d in call(details=details).as_exported().details] == ["outside", "inside"]


# --- JSON ---------------------------------------------------------------------------------------


@given(call=calls("any"))
def test_any_call_comes_back_from_its_json(call):
    text = call.to_json()
    back = Call.from_json(text)
    assert back == call
    assert "\n" not in text
    assert back.to_json() == text
    assert Call.from_json(text.encode()) == call
    drawn = [[p.drawn for p in many] for many in (call.stretches, call.stalls, call.details)]
    assert [
        [p.drawn for p in many] for many in (back.stretches, back.stalls, back.details)
    ] == drawn


def test_fields_of_a_later_version_are_ignored():
    known = call({TTFT: 1})
    raw = json.loads(known.to_json()) | {"colour": "blue", "usage": {"thoughts": 3}}
    assert Call.from_json(json.dumps(raw)) == dataclasses.replace(known, usage=Usage())


DAMAGED = [
    {"duration_ns": "1"},
    {"duration_ns": 1.5},
    {"duration_ns": None},
    {"name": 7},
    {"stream": "yes"},
    {"exclusive_ns": {"thinking": 1}},
    {"exclusive_ns": {"tool": 1.0}},
    {"exclusive_ns": [1]},
    {"stretches": [{"phase": "tool"}]},
    {"stretches": [{"phase": "tool", "start_ns": 0, "end_ns": "late"}]},
    {"stretches": 3},
    {"details": ["step"]},
    {"usage": {"input_tokens": "many"}},
    {"ended": "somehow"},
    {"reported": [1]},
    {"unattributed_cost": "free"},
]


@pytest.mark.parametrize("damage", DAMAGED, ids=str)
def test_a_damaged_record_is_refused(damage):
    raw = json.loads(call({TTFT: 1}).to_json()) | damage
    with pytest.raises(RecordError, match=r"not a call: .*expected what Call\.to_json"):
        Call.from_json(json.dumps(raw))


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "3", '"call"', "{}", "{", b"\xff\xfe\x00", "[" * 100_000, None, 3]
)
def test_what_is_no_record_is_refused_and_shown(text):
    with pytest.raises(RecordError) as refused:
        Call.from_json(text)
    assert repr(text)[:20] in str(refused.value)
    assert len(str(refused.value)) < 400


@given(call=calls("any"), data=st.data())
def test_a_text_cut_anywhere_is_refused(call, data):
    text = call.to_json()
    with pytest.raises(RecordError):
        Call.from_json(text[: data.draw(st.integers(0, len(text) - 1))])


@given(text=st.text() | st.binary())
def test_no_text_gives_anything_but_a_record_error(text):
    with pytest.raises(RecordError):
        Call.from_json(text)
