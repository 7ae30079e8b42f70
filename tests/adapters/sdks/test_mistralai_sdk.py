"""The real Mistral SDK, hooked into: every way to ask is one request, and looks as before."""

from __future__ import annotations

import asyncio
import importlib
import importlib.util

import mistralai
import pytest

from adapters.sdks.wired_sdks import (
    STREAMED,
    WHOLE,
    Reading,
    hooked,
    split,
)
from lab.wire_formats import PROMPT_TOKENS
from lab.wire_server import Timing
from llmphases import llm_call
from llmphases.testing import recorded_calls

DEEPER = importlib.util.find_spec("mistralai.client")  # a package from 2 on
PLACE = "mistralai.client" if DEEPER.submodule_search_locations else mistralai.__name__
sdk = importlib.import_module(PLACE)
streaming = importlib.import_module(f"{PLACE}.utils.eventstreaming")
MESSAGES = [{"role": "user", "content": "hi"}]
TEXT = "word0 word1 word2 "


@pytest.fixture(autouse=True)
def _hooked():
    with hooked("mistralai"):
        yield


@pytest.fixture
def calls():
    with recorded_calls() as found:
        yield found


@pytest.fixture
def client(wire_server):
    with sdk.Mistral(api_key="none", server_url=wire_server.url) as made:
        yield made


def has_text(event):
    return bool(event.data.choices[0].delta.content)


def text_of(events):
    return "".join(event.data.choices[0].delta.content for event in events)


def test_a_stream(client, calls, wire_server):
    model = wire_server.asks(Timing(first_token_s=0.04, gap_s=0.02))
    reading = Reading()
    with client.chat.stream(model=model, messages=MESSAGES) as stream:
        assert isinstance(stream, streaming.EventStream)
        assert stream.response.status_code == 200
        assert text_of(reading.all_of(stream, has_text)) == TEXT
    (call,) = calls
    assert (call.name, call.provider) == (f"chat {model}", "mistral_ai")
    assert (call.usage.input_tokens, call.usage.output_tokens) == (PROMPT_TOKENS, 3)
    reading.assert_split(call, *wire_server.served(model))


def test_a_whole_answer(client, calls, wire_server):
    model = wire_server.asks()
    answer = client.chat.complete(model=model, messages=MESSAGES)
    assert answer.choices[0].message.content == TEXT
    (call,) = calls
    assert (split(call), call.response_model, call.usage.output_tokens) == (WHOLE, model, 3)


def test_embeddings(client, calls, wire_server):
    wire_server.others["/v1/embeddings"] = {
        "id": "lab",
        "object": "list",
        "model": "e",
        "data": [{"object": "embedding", "embedding": [0.5], "index": 0}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 0, "total_tokens": 5},
    }
    assert client.embeddings.create(model="e", inputs=["hi"]).data[0].embedding == [0.5]
    assert (calls[0].name, split(calls[0]), calls[0].usage.input_tokens) == (
        "embeddings e", WHOLE, 5,
    )  # fmt: skip


def test_inside_a_call_left_early(client, calls, wire_server):
    with llm_call("mine"):
        with client.chat.stream(model=wire_server.asks(), messages=MESSAGES) as stream:
            next(iter(stream))
        client.chat.complete(model=wire_server.asks(), messages=MESSAGES)
    (call,) = calls
    assert (call.name, call.requests) == ("mine", 2)


def test_what_it_raises(client, calls, wire_server):
    model = wire_server.asks(Timing(status=400))
    for ask in (client.chat.complete, client.chat.stream):
        with pytest.raises(Exception, match="400"):
            ask(model=model, messages=MESSAGES)
    assert [call.error_type for call in calls] == ["SDKError", "SDKError"]


def test_attempts_of_its_own(client, calls, wire_server):
    retries = importlib.import_module(f"{PLACE}.utils.retries")
    backoff = retries.BackoffStrategy(50, 50, 1.0, 5000)
    config = retries.RetryConfig("backoff", backoff, retry_connection_errors=True)
    with hooked("mistralai", http=True):
        model = wire_server.asks(Timing(fail_times=1, gap_s=0.01))
        reading = Reading()
        stream = client.chat.stream(model=model, messages=MESSAGES, retries=config)
        reading.all_of(stream, has_text)
    reading.assert_retried(*calls, wire_server.served(model), pause_s=0.05)


def test_all_of_it_async(wire_server, calls):
    async def main():
        model = wire_server.asks()
        async with sdk.Mistral(api_key="none", server_url=wire_server.url) as client:
            async with await client.chat.stream_async(model=model, messages=MESSAGES) as stream:
                assert isinstance(stream, streaming.EventStreamAsync)
                assert text_of([event async for event in stream]) == TEXT
            answer = await client.chat.complete_async(model=model, messages=MESSAGES)
            assert answer.choices[0].message.content == TEXT

    asyncio.run(main())
    assert [split(call) for call in calls] == [STREAMED, WHOLE]
    assert [call.usage.output_tokens for call in calls] == [3, 3]
