"""Chunks of OpenAI chat, from the real SDKs that have them."""

from __future__ import annotations

import httpx
import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletionChunk

from adapters.recorded import GROQ, OPENAI_CHAT, answering, dicts_of, facts, kinds, text_of
from llmphases.adapters.chunks import shape_of
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, REASONING
from llmphases.calls import Usage

pytestmark = pytest.mark.real
ASK = {"model": "m", "messages": [{"role": "user", "content": "Hello"}]}
USAGE = Usage(
    input_tokens=12, output_tokens=5, cache_read_input_tokens=0, reasoning_output_tokens=0
)


@pytest.fixture
def client():
    with httpx2.Client(transport=answering(httpx2, OPENAI_CHAT)) as http:
        yield openai.OpenAI(api_key="none", base_url="http://test", http_client=http)


def chunk_with(delta, **more):
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    raw = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return ChatCompletionChunk.construct(**raw, **{"choices": [choice], **more})


def kind(chunk):
    return shape_of(chunk).kind(chunk)


def test_rc_020_the_role_frame_and_the_usage_frame_are_no_tokens(client):
    assert kinds(client.chat.completions.create(**ASK, stream=True)) == [0, 1, 1, 1, 0, 0]


def test_rc_028_usage_is_taken_from_the_chunk_without_choices(client):
    heard = facts(client.chat.completions.create(**ASK, stream=True))
    assert (heard.usage, heard.response_model, heard.provider) == (USAGE, "gpt-4o-mini", None)


def test_events_derived_from_a_chunk_do_not_count_its_token_again(client):
    with client.chat.completions.stream(**ASK) as stream:
        events = list(stream)
    assert kinds(events).count(ANSWER) == 3
    assert facts(events).usage == USAGE


def test_the_json_and_the_wire_say_the_same_as_the_objects(client):
    objects = kinds(client.chat.completions.create(**ASK, stream=True))
    assert kinds(dicts_of(OPENAI_CHAT)) == objects
    events = text_of(OPENAI_CHAT).split("\n\n")
    assert kinds(events) == [NOT_A_TOKEN, *objects, NOT_A_TOKEN, NOT_A_TOKEN]
    assert facts(events) == facts(dicts_of(OPENAI_CHAT))


def test_groq_says_its_thoughts_usage_and_times():
    groq = pytest.importorskip("groq")
    with httpx.Client(transport=answering(httpx, GROQ)) as http:
        client = groq.Groq(api_key="none", base_url="http://test", http_client=http)
        chunks = list(client.chat.completions.create(**ASK, stream=True))
    assert kinds(chunks) == kinds(dicts_of(GROQ)) == [0, REASONING, ANSWER, 0]
    heard = facts(chunks)
    assert heard == facts(dicts_of(GROQ))
    assert heard.provider == "groq"
    assert heard.usage == Usage(input_tokens=25, output_tokens=40)
    assert heard.reported.generation_ns == 80_000_000


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        ({"content": "Hi"}, ANSWER),
        ({"refusal": "No."}, ANSWER),
        ({"tool_calls": [{"index": 0, "function": {"name": "f", "arguments": ""}}]}, ANSWER),
        ({"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}, ANSWER),
        ({"tool_calls": [{"index": 0, "function": {"arguments": ""}}]}, NOT_A_TOKEN),
        ({"tool_calls": [{"index": 0, "function": None}]}, NOT_A_TOKEN),
        ({"tool_calls": []}, NOT_A_TOKEN),
        ({"function_call": {"name": "f"}}, ANSWER),
        ({"audio": {"data": "UklG"}}, ANSWER),
        ({"audio": {"id": "audio_1"}}, NOT_A_TOKEN),
        ({"reasoning_content": "Hm"}, REASONING),
        ({"reasoning": "Hm"}, REASONING),
        ({"reasoning": "Hm", "content": "Hi"}, ANSWER),
        ({"reasoning_details": [{"type": "reasoning.text", "text": "Hm"}]}, REASONING),
        ({"reasoning_content": ""}, NOT_A_TOKEN),
        ({"role": "assistant", "content": ""}, NOT_A_TOKEN),
        ({"role": "assistant", "content": None}, NOT_A_TOKEN),
        ({}, NOT_A_TOKEN),
        (None, NOT_A_TOKEN),
    ],
)
def test_what_a_delta_is(delta, expected):
    raw = {"choices": [{"index": 0, "delta": delta}]}
    assert (kind(chunk_with(delta)), kind(raw)) == (expected, expected)


@pytest.mark.parametrize(
    "odd", [{"choices": []}, {"choices": None}, {"choices": [None]}, {"usage": None, "choices": []}]
)
def test_rc_028_odd_chunks_are_no_tokens_and_no_faults(odd):
    for chunk in (chunk_with({}, **odd), odd):
        assert kind(chunk) == NOT_A_TOKEN
        assert facts([chunk]).usage is None


def test_a_token_in_any_choice_counts():
    raw = {"choices": [{"index": 0, "delta": {}}, {"index": 1, "delta": {"content": "Hi"}}]}
    assert (kind(chunk_with({}, **raw)), kind(raw)) == (ANSWER, ANSWER)


def test_text_completions_are_answers():
    completion = openai.types.Completion.construct(
        id="c", object="text_completion", created=1, model="m", choices=[{"text": "Hi", "index": 0}]
    )
    assert kind(completion) == kind({"choices": [{"text": "Hi"}]}) == ANSWER
    assert kind({"choices": [{"text": ""}]}) == NOT_A_TOKEN


def test_times_of_llama_cpp_are_heard_through_the_sdk():
    timings = {"prompt_ms": 30.958, "predicted_ms": 661.064, "predicted_n": 35}
    reported = facts([chunk_with({}, choices=[], timings=timings)]).reported
    assert (reported.prefill_ns, reported.generation_ns) == (30_958_000, 661_064_000)
