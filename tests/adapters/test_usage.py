"""Usage under all the names that providers have for it."""

from __future__ import annotations

from collections import namedtuple
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmphases.adapters.usage import usage_of
from llmphases.calls import Usage


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (
            {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "prompt_tokens_details": {"cached_tokens": 60, "cache_write_tokens": 7},
                "completion_tokens_details": {"reasoning_tokens": 8},
            },
            Usage(
                input_tokens=100,
                output_tokens=20,
                cache_read_input_tokens=60,
                cache_write_input_tokens=7,
                reasoning_output_tokens=8,
            ),
        ),
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 4},
            Usage(input_tokens=9, output_tokens=2, cache_read_input_tokens=4),
        ),
        (
            {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 60},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 8},
            },
            Usage(
                input_tokens=100,
                output_tokens=20,
                cache_read_input_tokens=60,
                reasoning_output_tokens=8,
            ),
        ),
        (
            {
                "input_tokens": 12,
                "cache_creation_input_tokens": 3000,
                "cache_read_input_tokens": 9000,
                "output_tokens": 5,
            },
            Usage(
                input_tokens=12_012,
                output_tokens=5,
                cache_read_input_tokens=9000,
                cache_write_input_tokens=3000,
            ),
        ),
        (
            {
                "input_tokens": 24,
                "output_tokens": 10,
                "cache_read_input_tokens": 8,
                "total_tokens": 34,
            },
            Usage(input_tokens=24, output_tokens=10, cache_read_input_tokens=8),
        ),
        (
            {
                "input_tokens": 12000,
                "cached_input_tokens": 9000,
                "cache_write_input_tokens": 0,
                "output_tokens": 5,
                "reasoning_output_tokens": 0,
            },
            Usage(
                input_tokens=12000,
                output_tokens=5,
                cache_read_input_tokens=9000,
                cache_write_input_tokens=0,
                reasoning_output_tokens=0,
            ),
        ),
        (
            {
                "promptTokenCount": 10,
                "toolUsePromptTokenCount": 2,
                "candidatesTokenCount": 5,
                "thoughtsTokenCount": 7,
                "cachedContentTokenCount": 4,
            },
            Usage(
                input_tokens=12,
                output_tokens=12,
                cache_read_input_tokens=4,
                reasoning_output_tokens=7,
            ),
        ),
        ({"prompt_eval_count": 26, "eval_count": 259}, Usage(input_tokens=26, output_tokens=259)),
        (
            {"inputTokenCount": 25, "outputTokenCount": 11},
            Usage(input_tokens=25, output_tokens=11),
        ),
        (
            {"tokens": {"input_tokens": 3, "output_tokens": 4}},
            Usage(input_tokens=3, output_tokens=4),
        ),
        ({"output_tokens": 4}, Usage(output_tokens=4)),
        ({"total_tokens": 4}, None),
        ({}, None),
    ],
)
def test_what_a_usage_says(raw, expected):
    assert usage_of(raw) == usage_of(SimpleNamespace(**raw)) == expected


@pytest.mark.parametrize(
    "wrap",
    [
        lambda usage: {"usage": usage},
        lambda usage: SimpleNamespace(usage=usage),
        lambda usage: {"message": {"usage": usage}},
        lambda usage: {"type": "response.completed", "response": {"usage": usage}},
        lambda usage: SimpleNamespace(usage=None, usage_metadata=usage),
        lambda usage: {"x_groq": {"usage": usage}},
        lambda usage: namedtuple("Slotted", "usage")(usage),  # noqa: PYI024  # any class without a dict
    ],
)
def test_usage_is_found_where_a_response_keeps_it(wrap):
    usage = {"input_tokens": 3, "output_tokens": 4}
    assert usage_of(wrap(usage)) == Usage(input_tokens=3, output_tokens=4)


@pytest.mark.parametrize("odd", ["12", -1, True, 1.0, None, [], {}, 2**63, float("nan")])
def test_rc_029_only_whole_numbers_from_zero_up_are_counts(odd):
    assert usage_of({"prompt_tokens": odd, "completion_tokens": 5}) == Usage(output_tokens=5)
    assert usage_of({"input_tokens": odd, "output_tokens": odd}) is None


@pytest.mark.parametrize("odd", [None, {}, [], "no", 5, object(), {"usage": None}])
def test_rc_029_no_usage_is_none(odd):
    assert usage_of(odd) is None
    assert usage_of({"usage": odd}) is None


def test_rc_029_details_that_are_none_leave_the_rest():
    raw = {"input_tokens": 5, "output_tokens": 2, "output_tokens_details": None}
    assert usage_of(raw) == Usage(input_tokens=5, output_tokens=2)


def test_a_usage_of_ours_stays_what_it_is_but_for_what_is_no_count():
    assert usage_of(Usage(input_tokens=3)) == Usage(input_tokens=3)
    assert usage_of(Usage(input_tokens=True, output_tokens=-4)) is None


def test_rc_056_nothing_is_written_to_what_is_read():
    raw = {"usage": {"prompt_tokens": 1}}
    usage_of(raw)
    assert raw == {"usage": {"prompt_tokens": 1}}


def test_an_object_that_holds_itself_ends():
    loop = SimpleNamespace()
    loop.usage = loop.message = loop.response = loop
    assert usage_of(loop) is None


NAMES = st.sampled_from(
    [
        "usage", "message", "prompt_tokens", "completion_tokens", "input_tokens", "output_tokens",
        "cache_read_input_tokens", "prompt_tokens_details", "cached_tokens", "total_tokens",
        "thoughtsTokenCount", "candidatesTokenCount", "promptTokenCount",
    ]
)  # fmt: skip
ODD = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)


@given(st.recursive(ODD, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner)))
def test_usage_never_raises_and_holds_only_counts(raw):
    usage = usage_of(raw)
    counts = [] if usage is None else [usage.input_tokens, usage.output_tokens]
    assert all(n is None or (type(n) is int and 0 <= n < 2**63) for n in counts)
