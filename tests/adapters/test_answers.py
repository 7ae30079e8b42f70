"""What whole answers say beside their text."""

from __future__ import annotations

import pytest

from llmphases.adapters.answers import facts_of
from llmphases.calls import Usage

USAGE = {"prompt_tokens": 3, "completion_tokens": 4}


def test_usage_model_and_times():
    facts = facts_of({"model": "m", "usage": USAGE, "timings": {"predicted_ms": 2.0}})
    assert facts.usage == Usage(input_tokens=3, output_tokens=4)
    assert (facts.response_model, facts.reported.generation_ns) == ("m", 2_000_000)


def test_gemini_calls_its_model_a_version():
    assert facts_of({"modelVersion": "gemini-x"}).response_model == "gemini-x"


@pytest.mark.parametrize("answer", [None, "text", 5, object(), {}, {"model": 5}, [1, 2]])
def test_what_says_nothing_has_no_facts(answer):
    assert facts_of(answer) is None
