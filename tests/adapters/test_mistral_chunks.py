"""Events of Mistral, from the real SDK."""

from __future__ import annotations

import httpx2
import pytest

from adapters.recorded import MISTRAL, answering, dicts_of, facts, kinds
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, REASONING
from llmphases.calls import Usage

pytestmark = pytest.mark.real
EXPECTED = [NOT_A_TOKEN, REASONING, ANSWER, NOT_A_TOKEN]


@pytest.fixture
def events():
    mistral = pytest.importorskip("mistralai.client")
    with httpx2.Client(transport=answering(httpx2, MISTRAL)) as http:
        client = mistral.Mistral(api_key="none", client=http)
        yield list(client.chat.stream(model="m", messages=[{"role": "user", "content": "Hello"}]))


def test_thinking_parts_are_reasoning(events):
    assert kinds(events) == kinds(dicts_of(MISTRAL)) == EXPECTED


def test_usage_stands_one_level_down(events):
    heard = facts(events)
    assert (heard.response_model, heard.provider) == ("magistral-small", "mistral_ai")
    assert heard.usage == Usage(input_tokens=12, output_tokens=5)


def test_a_tool_call_with_ready_arguments_is_an_answer():
    function = {"name": "", "arguments": {"x": 1}}
    assert kinds([{"choices": [{"delta": {"tool_calls": [{"function": function}]}}]}]) == [ANSWER]
