"""Chunks of Ollama, from the real SDK."""

from __future__ import annotations

import httpx
import ollama
import pytest

from adapters.recorded import OLLAMA, answering, dicts_of, facts, kinds, text_of
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, REASONING
from llmphases.calls import Usage

pytestmark = pytest.mark.real
EXPECTED = [REASONING, ANSWER, ANSWER, NOT_A_TOKEN]


@pytest.fixture
def chunks():
    client = ollama.Client(transport=answering(httpx, OLLAMA))
    yield client.chat(model="m", messages=[{"role": "user", "content": "Hello"}], stream=True)
    client._client.close()


def test_the_done_chunk_is_no_token(chunks):
    assert kinds(chunks) == EXPECTED


def test_loading_the_model_is_told_from_reading_the_prompt(chunks):
    heard = facts(chunks)
    assert (heard.response_model, heard.provider) == ("qwen3", "ollama")
    assert heard.usage == Usage(input_tokens=26, output_tokens=259)
    assert heard.reported.queue_ns == 6_338_219_291
    assert heard.reported.prefill_ns == 130_079_000
    assert heard.reported.generation_ns == 4_232_710_000
    assert heard.reported.raw["total_duration"] == 10_706_818_083


def test_the_json_and_the_wire_say_the_same_as_the_objects():
    lines = text_of(OLLAMA).splitlines()
    assert kinds(dicts_of(OLLAMA)) == kinds(lines) == EXPECTED
    assert facts(lines) == facts(dicts_of(OLLAMA))


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"response": "Hi", "done": False}, ANSWER),
        ({"response": "", "thinking": "Hm", "done": False}, REASONING),
        ({"response": "", "done": True, "eval_count": 3}, NOT_A_TOKEN),
    ],
)
def test_what_a_generated_chunk_is(raw, expected):
    assert kinds([raw, ollama.GenerateResponse(**raw)]) == [expected, expected]


def test_a_tool_call_is_an_answer():
    call = {"function": {"name": "f", "arguments": {"x": 1}}}
    raw = {"message": {"role": "assistant", "content": "", "tool_calls": [call]}, "done": False}
    assert kinds([raw, ollama.ChatResponse(**raw)]) == [ANSWER, ANSWER]
