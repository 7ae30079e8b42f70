"""Events of OpenAI Responses, from the real SDK."""

from __future__ import annotations

import httpx2
import openai
import pytest

from adapters.recorded import OPENAI_RESPONSES, answering, dicts_of, facts, kinds, text_of
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, REASONING
from llmphases.calls import Usage

pytestmark = pytest.mark.real
EXPECTED = [0, 0, REASONING, 0, 0, ANSWER, ANSWER, ANSWER, 0, 0, 0]


@pytest.fixture
def client():
    with httpx2.Client(transport=answering(httpx2, OPENAI_RESPONSES)) as http:
        yield openai.OpenAI(api_key="none", base_url="http://test", http_client=http)


def test_rc_020_created_and_done_events_are_no_tokens(client):
    events = list(client.responses.create(model="m", input="Hello", stream=True))
    assert kinds(events) == EXPECTED
    assert facts(events).response_model == "gpt-5-mini"
    assert facts(events).usage == Usage(
        input_tokens=12, output_tokens=9, cache_read_input_tokens=4, reasoning_output_tokens=4
    )


def test_the_stream_helper_gives_the_same(client):
    with client.responses.stream(model="m", input="Hello") as stream:
        assert kinds(stream) == EXPECTED


def test_the_json_and_the_wire_say_the_same_as_the_objects(client):
    objects = list(client.responses.create(model="m", input="Hello", stream=True))
    assert kinds(dicts_of(OPENAI_RESPONSES)) == EXPECTED
    events = text_of(OPENAI_RESPONSES).strip().split("\n\n")
    assert kinds(events) == EXPECTED
    assert facts(events) == facts(objects) == facts(dicts_of(OPENAI_RESPONSES))


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ({"type": "response.function_call_arguments.delta", "delta": "{"}, ANSWER),
        ({"type": "response.custom_tool_call_input.delta", "delta": "x"}, ANSWER),
        ({"type": "response.refusal.delta", "delta": "No"}, ANSWER),
        ({"type": "response.reasoning_text.delta", "delta": "Hm"}, REASONING),
        ({"type": "response.output_text.delta", "delta": ""}, NOT_A_TOKEN),
        ({"type": "response.output_text.delta"}, NOT_A_TOKEN),
        ({"type": "response.queued", "response": None}, NOT_A_TOKEN),
        ({"type": "response.function_call_arguments.done", "arguments": "{}"}, NOT_A_TOKEN),
    ],
)
def test_what_an_event_is(event, expected):
    assert kinds([event]) == [expected]


def test_times_of_vllm_stand_in_the_completed_response():
    metrics = {"queue_time_ms": 5, "time_to_first_token_ms": 40.5, "generation_time_ms": 100}
    event = {"type": "response.completed", "response": {"model": "m", "metrics": metrics}}
    reported = facts([event]).reported
    assert (reported.queue_ns, reported.prefill_ns) == (5_000_000, 40_500_000)
