"""The real boto3, hooked into: what asks a model of Bedrock, and nothing else that it does."""

from __future__ import annotations

import boto3
import pytest
from botocore.config import Config
from botocore.eventstream import EventStream
from botocore.stub import Stubber

from adapters.sdks.wired_sdks import (
    WHOLE,
    Reading,
    hooked,
    split,
)
from lab.wire_formats import PROMPT_TOKENS
from lab.wire_server import Timing
from llmphases import llm_call
from llmphases.calls import Ended
from llmphases.testing import recorded_calls

MESSAGES = [{"role": "user", "content": [{"text": "hi"}]}]
TEXT = "word0 word1 word2 "
KEYS = {"aws_access_key_id": "none", "aws_secret_access_key": "none", "region_name": "eu-west-1"}


@pytest.fixture(autouse=True)
def _hooked():
    with hooked("bedrock"):
        yield


@pytest.fixture
def calls():
    with recorded_calls() as found:
        yield found


@pytest.fixture
def client(wire_server):
    config = Config(retries={"max_attempts": 0})
    made = boto3.client("bedrock-runtime", endpoint_url=wire_server.url, config=config, **KEYS)
    yield made
    made.close()


def knows_of_caches(client):
    """Older versions take from the answer what they know of."""
    return "cacheReadInputTokens" in client.meta.service_model.shape_for("TokenUsage").members


def is_delta(event):
    return "contentBlockDelta" in event


def text_of(events):
    deltas = [event["contentBlockDelta"] for event in events if "contentBlockDelta" in event]
    return "".join(delta["delta"]["text"] for delta in deltas)


def test_a_stream(client, calls, wire_server):
    model = wire_server.asks(Timing(first_token_s=0.04, gap_s=0.02, cache_written=50))
    reading = Reading()
    answer = client.converse_stream(modelId=model, messages=MESSAGES)
    assert answer["ResponseMetadata"]["HTTPStatusCode"] == 200
    assert isinstance(answer["stream"], EventStream)
    assert text_of(reading.all_of(answer["stream"], is_delta)) == TEXT
    answer["stream"].close()
    (call,) = calls
    assert (call.name, call.provider) == (f"chat {model}", "aws.bedrock")
    assert (call.usage.output_tokens, call.reported["latencyMs"]) == (3, 80)
    if knows_of_caches(client):
        assert (call.usage.input_tokens, call.cache_result) == (PROMPT_TOKENS + 50, "miss")
    reading.assert_split(call, *wire_server.served(model))


def test_a_whole_answer(client, calls, wire_server):
    model = wire_server.asks(Timing(cached=50))
    answer = client.converse(modelId=model, messages=MESSAGES)
    assert answer["output"]["message"]["content"] == [{"text": TEXT}]
    (call,) = calls
    assert (split(call), call.request_model, call.usage.output_tokens) == (WHOLE, model, 3)
    assert call.cache_result == ("hit" if knows_of_caches(client) else None)


def test_inside_a_call_left_early(client, calls, wire_server):
    model = wire_server.asks()
    with llm_call("mine"):
        stream = client.converse_stream(modelId=model, messages=MESSAGES)["stream"]
        for event in stream:
            if "contentBlockDelta" in event:
                break
        stream.close()
        client.converse(modelId=model, messages=MESSAGES)
    (call,) = calls
    assert (call.name, call.requests) == ("mine", 2)


def test_a_stream_that_is_left_early_is_closed(client, calls, wire_server):
    stream = client.converse_stream(modelId=wire_server.asks(), messages=MESSAGES)["stream"]
    next(iter(stream))
    stream.close()
    assert [call.ended for call in calls] == [Ended.CLOSED]


def test_what_it_raises(client, calls, wire_server):
    with pytest.raises(client.exceptions.ClientError):
        client.converse(modelId=wire_server.asks(Timing(status=400)), messages=MESSAGES)
    assert calls[0].error_type == "ClientError"


def test_attempts_of_its_own(wire_server, calls):
    config = Config(retries={"max_attempts": 1})
    client = boto3.client("bedrock-runtime", endpoint_url=wire_server.url, config=config, **KEYS)
    with hooked("bedrock", http=True):
        model = wire_server.asks(Timing(fail_times=1, gap_s=0.01))
        reading = Reading()
        answer = client.converse_stream(modelId=model, messages=MESSAGES)
        reading.all_of(answer["stream"], is_delta)
    reading.assert_retried(*calls, wire_server.served(model), pause_s=0)
    client.close()


def test_other_services_and_stubs(calls):
    other = boto3.client("sts", **KEYS)
    with Stubber(other) as stub:
        stub.add_response("get_caller_identity", {"Account": "1"})
        assert other.get_caller_identity()["Account"] == "1"
    assert calls == []
    ours = boto3.client("bedrock-runtime", **KEYS)
    with Stubber(ours) as stub:
        message = {"role": "assistant", "content": [{"text": TEXT}]}
        usage = {"inputTokens": 1, "outputTokens": 2, "totalTokens": 3}
        said = {"output": {"message": message}, "stopReason": "end_turn", "usage": usage}
        stub.add_response("converse", {**said, "metrics": {"latencyMs": 1}})
        assert ours.converse(modelId="m", messages=MESSAGES)["usage"] == usage
    assert [(call.name, call.usage.output_tokens) for call in calls] == [("chat m", 2)]
