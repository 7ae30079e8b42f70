"""Events of Anthropic messages, from the real SDK."""

from __future__ import annotations

import anthropic
import httpx2
import pytest
from anthropic.types import RawContentBlockDeltaEvent, RawContentBlockStartEvent

from adapters.recorded import ANTHROPIC, answering, dicts_of, facts, kinds, text_of
from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, REASONING, Facts
from llmphases.calls import Usage

pytestmark = pytest.mark.real
ASK = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hello"}]}
USAGE = Usage(
    input_tokens=12_012,
    output_tokens=5,
    cache_read_input_tokens=9_000,
    cache_write_input_tokens=3_000,
)


@pytest.fixture
def client():
    with httpx2.Client(transport=answering(httpx2, ANTHROPIC)) as http:
        yield anthropic.Anthropic(api_key="none", base_url="http://test", http_client=http)


def test_rc_020_start_and_stop_events_are_no_tokens(client):
    assert kinds(client.messages.create(**ASK, stream=True)) == [0, 0, 1, 1, 1, 0, 0, 0]


def test_the_text_events_of_the_stream_helper_do_not_count_again(client):
    with client.messages.stream(**ASK) as stream:
        events = list(stream)
    assert [event.type for event in events].count("text") == 3
    assert kinds(events).count(ANSWER) == 3
    assert facts(events).usage == USAGE


def test_cumulative_usage_replaces_and_never_adds_up(client):
    heard = facts(client.messages.create(**ASK, stream=True))
    assert heard == Facts(
        usage=USAGE, response_model="claude-sonnet-4-5", provider="anthropic", reported=None
    )


def test_the_json_and_the_wire_say_the_same_as_the_objects(client):
    objects = list(client.messages.create(**ASK, stream=True))
    without_pings = [event for event in dicts_of(ANTHROPIC) if event["type"] != "ping"]
    assert kinds(without_pings) == kinds(objects)
    events = text_of(ANTHROPIC).strip().split("\n\n")
    assert kinds(events) == kinds(dicts_of(ANTHROPIC))
    assert facts(events) == facts(objects)


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        ({"type": "text_delta", "text": "Hi"}, ANSWER),
        ({"type": "text_delta", "text": ""}, NOT_A_TOKEN),
        ({"type": "input_json_delta", "partial_json": "{"}, ANSWER),
        ({"type": "input_json_delta", "partial_json": ""}, NOT_A_TOKEN),
        ({"type": "thinking_delta", "thinking": "Hm"}, REASONING),
        ({"type": "signature_delta", "signature": "x"}, NOT_A_TOKEN),
        ({"type": "citations_delta", "citation": {"cited_text": "x"}}, NOT_A_TOKEN),
        (None, NOT_A_TOKEN),
    ],
)
def test_what_a_delta_is(delta, expected):
    raw = {"type": "content_block_delta", "index": 0, "delta": delta}
    assert kinds([raw, RawContentBlockDeltaEvent.construct(**raw)]) == [expected, expected]


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "text", "text": ""}, NOT_A_TOKEN),
        ({"type": "text", "text": "Hi"}, ANSWER),
        ({"type": "tool_use", "id": "t", "name": "search", "input": {}}, ANSWER),
        ({"type": "thinking", "thinking": "", "signature": ""}, NOT_A_TOKEN),
        ({"type": "redacted_thinking", "data": "x"}, REASONING),
        ({"type": "web_search_tool_result", "tool_use_id": "t", "content": []}, NOT_A_TOKEN),
    ],
)
def test_what_the_start_of_a_block_is(block, expected):
    raw = {"type": "content_block_start", "index": 0, "content_block": block}
    assert kinds([raw, RawContentBlockStartEvent.construct(**raw)]) == [expected, expected]


@pytest.mark.parametrize(
    ("message_id", "provider"),
    [("msg_01X", "anthropic"), ("msg_bdrk_01X", "aws.bedrock"), ("msg_9", None), (None, None)],
)
def test_the_id_of_a_message_tells_whose_cloud_it_is(message_id, provider):
    assert facts([{"type": "message_start", "message": {"id": message_id}}]).provider == provider
