"""Responses of Google GenAI, from the real SDK."""

from __future__ import annotations

import httpx2
import pytest
from google import genai
from google.genai import types

from adapters.recorded import GEMINI, answering, dicts_of, facts, kinds, text_of
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, REASONING
from llmphases.calls import Usage

pytestmark = pytest.mark.real
EXPECTED = [REASONING, ANSWER, ANSWER, NOT_A_TOKEN]


@pytest.fixture
def responses():
    with httpx2.Client(transport=answering(httpx2, GEMINI)) as http:
        options = types.HttpOptions(httpx_client=http, base_url="http://test")
        client = genai.Client(api_key="none", http_options=options)
        yield client.models.generate_content_stream(model="m", contents="Hello")
        client.close()


def test_thoughts_and_text_are_told_apart(responses):
    assert kinds(responses) == EXPECTED


def test_output_includes_the_thoughts_and_input_the_cache(responses):
    heard = facts(responses)
    assert (heard.response_model, heard.provider) == ("gemini-2.5-flash", "gcp.gen_ai")
    assert heard.usage == Usage(
        input_tokens=12, output_tokens=9, cache_read_input_tokens=8, reasoning_output_tokens=4
    )


def test_the_json_and_the_wire_say_the_same_as_the_objects(responses):
    objects = facts(responses)
    assert kinds(dicts_of(GEMINI)) == EXPECTED
    events = text_of(GEMINI).strip().split("\n\n")
    assert kinds(events) == EXPECTED
    assert facts(events) == facts(dicts_of(GEMINI))
    assert facts(events).usage == objects.usage


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([{"text": "Hi"}], ANSWER),
        ([{"text": "Hm", "thought": True}, {"text": "Hi"}], ANSWER),
        ([{"functionCall": {"name": "f", "args": {}}}], ANSWER),
        ([{"inlineData": {"mimeType": "image/png", "data": "aGk="}}], ANSWER),
        ([{"thoughtSignature": "aGk="}], NOT_A_TOKEN),
        ([], NOT_A_TOKEN),
    ],
)
def test_what_parts_are(parts, expected):
    raw = {"candidates": [{"content": {"parts": parts, "role": "model"}}]}
    response = types.GenerateContentResponse.model_validate(raw)
    assert kinds([raw, response]) == [expected, expected]


@pytest.mark.parametrize(
    "raw", [{"candidates": None}, {"candidates": [{}]}, {"usageMetadata": {"promptTokenCount": 3}}]
)
def test_rc_028_responses_without_parts_are_no_tokens(raw):
    response = types.GenerateContentResponse.model_validate(raw)
    assert kinds([raw, response]) == [NOT_A_TOKEN, NOT_A_TOKEN]
