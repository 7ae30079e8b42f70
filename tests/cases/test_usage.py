"""Answers whose usage is odd, or somewhere else than expected: only true counts are told."""

from __future__ import annotations

import logging

import pytest

from capture import wirings
from llmphases import llm_call, traced_llm_call

INPUT, OUTPUT = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"


class Odd:
    """As SDKs make them: every field there, all of them None."""

    prompt_tokens = completion_tokens = total_tokens = None
    prompt_tokens_details = completion_tokens_details = None


class Counted(Odd):
    prompt_tokens, completion_tokens = 3, 4


class Response:
    """An answer that was not streamed; its fields are those of a last chunk."""

    def __init__(self, **fields):
        self.choices = []
        vars(self).update(fields)


COUNTS = {"prompt_tokens": 3, "completion_tokens": 4}
BOTH = {INPUT: 3, OUTPUT: 4}
USAGES = {
    "missing": (Response(), {}),
    "none": (Response(usage=None), {}),
    "empty": (Response(usage={}), {}),
    "a dict": (Response(usage=COUNTS), BOTH),
    "an object": (Response(usage=Counted()), BOTH),
    "an object of nothing": (Response(usage=Odd()), {}),
    "no details": (Response(usage=COUNTS | {"completion_tokens_details": None}), BOTH),
    "empty details": (
        Response(usage=COUNTS | {"completion_tokens_details": {"reasoning_tokens": None}}), BOTH
    ),
    "odd details": (Response(usage=COUNTS | {"prompt_tokens_details": "none"}), BOTH),
    "text": (Response(usage={"prompt_tokens": "3", "completion_tokens": "4"}), {}),
    "half text": (Response(usage={"prompt_tokens": "3", "completion_tokens": 4}), {OUTPUT: 4}),
    "negative": (Response(usage={"prompt_tokens": -3, "completion_tokens": 4}), {OUTPUT: 4}),
    "bool": (Response(usage={"prompt_tokens": True, "completion_tokens": 4}), {OUTPUT: 4}),
    "a fraction": (Response(usage={"prompt_tokens": 3.5, "completion_tokens": 4}), {OUTPUT: 4}),
    "text instead": (Response(usage="three"), {}),
    "a list instead": (Response(usage=[3, 4]), {}),
}  # fmt: skip


@pytest.fixture
def sink():
    with wirings.exported() as made:
        yield made


@pytest.fixture(autouse=True)
def _all_that_is_said(caplog):
    caplog.set_level(logging.DEBUG, "llmphases")


def of_usage(span):
    return {key: value for key, value in span.attributes.items() if ".usage." in key}


@pytest.mark.parametrize("case", USAGES)
def test_the_last_chunk_is_handed_on_as_it_is(sink, caplog, case):
    """RC-029"""
    last, expected = USAGES[case]
    given = [{"choices": [{"delta": {"content": "a"}}]}, vars(last)]

    @traced_llm_call
    def ask():
        yield from given

    taken = [list(ask()) for _ in range(3)]
    assert [[id(chunk) for chunk in chunks] for chunks in taken] == [list(map(id, given))] * 3
    assert [of_usage(span) for span in sink.named("ask")] == [expected] * 3
    assert all(
        type(value) is int for span in sink.named("ask") for value in of_usage(span).values()
    )
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.parametrize("case", USAGES)
def test_a_shape_that_says_nothing_is_spoken_of_once(sink, caplog, case):
    """RC-029"""
    answer, expected = USAGES[case]
    for _ in range(3):
        with llm_call("ask") as call:
            call.usage(answer)
    assert [of_usage(span) for span in sink.named("ask")] == [expected] * 3
    assert {record.levelno for record in caplog.records} <= {logging.DEBUG}
    assert len(caplog.records) == (0 if expected else 1)
