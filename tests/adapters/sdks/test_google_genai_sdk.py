"""The real Google GenAI SDK, hooked into: every request to a model is one, whoever makes it."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from google import genai
from google.genai import types

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

TEXT = "word0 word1 word2 "


@pytest.fixture(autouse=True)
def _hooked():
    with hooked("google-genai"):
        yield


@pytest.fixture
def calls():
    with recorded_calls() as found:
        yield found


def has_text(chunk):
    return bool(chunk.text)


def client_of(wire_server, **more):
    options = types.HttpOptions(base_url=wire_server.url, api_version="v1", **more)
    return genai.Client(api_key="none", http_options=options)


@pytest.fixture
def client(wire_server):
    return client_of(wire_server)


def test_a_stream(client, calls, wire_server):
    model = wire_server.asks(Timing(first_token_s=0.04, gap_s=0.02, cached=100))
    reading = Reading()
    stream = client.models.generate_content_stream(model=model, contents="hi")
    assert inspect.isgenerator(stream)
    assert "".join(chunk.text or "" for chunk in reading.all_of(stream, has_text)) == TEXT
    (call,) = calls
    assert (call.name, call.cache_result) == (f"generate_content {model}", "hit")
    assert (call.usage.input_tokens, call.usage.output_tokens) == (PROMPT_TOKENS + 100, 3)
    assert call.response_model == f"{model}-001"
    reading.assert_split(call, *wire_server.served(model))


def test_a_whole_answer(client, calls, wire_server):
    model = wire_server.asks()
    answer = client.models.generate_content(model=model, contents="hi")
    assert (type(answer), answer.text) == (types.GenerateContentResponse, TEXT)
    (call,) = calls
    assert (split(call), call.provider, call.cache_result) == (WHOLE, "gcp.gen_ai", None)
    assert (call.usage.output_tokens, call.response_model) == (3, f"{model}-001")


def test_a_chat(client, calls, wire_server):
    chat = client.chats.create(model=wire_server.asks())
    assert chat.send_message("hi").text == TEXT
    assert "".join(chunk.text or "" for chunk in chat.send_message_stream("again")) == TEXT
    assert [split(call) for call in calls] == [WHOLE, STREAMED]
    assert chat.get_history()[-1].role == "model"


def test_embeddings(client, calls, wire_server):
    wire_server.others["/v1/models/e:batchEmbedContents"] = {"embeddings": [{"values": [0.5]}]}
    assert client.models.embed_content(model="e", contents="hi").embeddings[0].values == [0.5]
    assert [(call.name, split(call)) for call in calls] == [("embeddings e", WHOLE)]


def test_inside_a_call_left_early(client, calls, wire_server):
    model = wire_server.asks()
    with llm_call("mine"):
        for chunk in client.models.generate_content_stream(model=model, contents="hi"):
            if chunk.text:
                break
        client.models.generate_content(model=model, contents="hi")
    (call,) = calls
    assert (call.name, call.requests, call.request_model) == ("mine", 2, model)


def test_what_it_raises(client, calls, wire_server):
    model = wire_server.asks(Timing(status=400))
    with pytest.raises(genai.errors.ClientError):
        client.models.generate_content(model=model, contents="hi")
    with pytest.raises(genai.errors.ClientError):
        list(client.models.generate_content_stream(model=model, contents="hi"))
    assert [call.error_type for call in calls] == ["ClientError", "ClientError"]


def test_attempts_of_its_own(wire_server, calls):
    retries = types.HttpRetryOptions(attempts=2, initial_delay=0.05, max_delay=0.05, jitter=0)
    client = client_of(wire_server, retry_options=retries)
    with hooked("google-genai", http=True):
        model = wire_server.asks(Timing(fail_times=1, gap_s=0.01))
        reading = Reading()
        stream = client.models.generate_content_stream(model=model, contents="hi")
        reading.all_of(stream, has_text)
    reading.assert_retried(*calls, wire_server.served(model), pause_s=0.05)


@pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession")  # the SDK's own
def test_all_of_it_async(wire_server, calls):
    async def main():
        model = wire_server.asks()
        client = client_of(wire_server).aio
        stream = await client.models.generate_content_stream(model=model, contents="hi")
        assert inspect.isasyncgen(stream)
        assert "".join([chunk.text or "" async for chunk in stream]) == TEXT
        answer = await client.models.generate_content(model=model, contents="hi")
        assert answer.text == TEXT
        if hasattr(client, "aclose"):
            await client.aclose()

    asyncio.run(main())
    assert [(split(call), call.requests) for call in calls] == [(STREAMED, 1), (WHOLE, 1)]
