"""Dicts that programs make up for their own streams."""

from __future__ import annotations

import pytest

from adapters.recorded import facts, kinds
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, REASONING
from llmphases.calls import Usage


@pytest.mark.parametrize(
    ("chunk", "expected"),
    [
        ({"text": "Hi"}, ANSWER),
        ({"text": ""}, NOT_A_TOKEN),
        ({"token": {"id": 1, "text": "Hi", "special": False}}, ANSWER),
        ({"type": "token", "content": "Hi"}, ANSWER),
        ({"type": "text-delta", "delta": "Hi"}, ANSWER),
        ({"type": "content-delta", "delta": {"message": {"content": {"text": "Hi"}}}}, ANSWER),
        ({"event_type": "text-generation", "text": "Hi"}, ANSWER),
        ({"type": "reasoning-delta", "delta": "Hm"}, REASONING),
        ({"reasoning": "Hm"}, REASONING),
        ({"type": "status", "content": "searching"}, NOT_A_TOKEN),
        ({"type": "error", "text": "no"}, NOT_A_TOKEN),
        ({"content": 5}, NOT_A_TOKEN),
        ({}, NOT_A_TOKEN),
    ],
)
def test_what_a_plain_dict_is(chunk, expected):
    assert kinds([chunk]) == [expected]


def test_rc_022_a_dict_that_says_nothing_we_know_is_no_token():
    assert kinds([{"payload": "Hi"}, {"x": {"y": "Hi"}}]) == [NOT_A_TOKEN, NOT_A_TOKEN]


def test_usage_and_model_are_heard():
    heard = facts([{"model": "m", "usage": {"input_tokens": 3, "output_tokens": 4}}])
    assert (heard.response_model, heard.usage) == ("m", Usage(input_tokens=3, output_tokens=4))
    assert facts([{"type": "status"}]).usage is None
