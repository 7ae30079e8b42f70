"""The real Google GenAI SDK, hooked into: every request to a model is one, whoever makes it."""

from __future__ import annotations

import asyncio
import inspect

import pytest
from google import genai
from google.genai import types

from adapters.sdks.wired_sdks import STREAMED, WHOLE, hooked, split, waits_as_the_server_does
from lab.tries import tries
from lab.wire_formats import PROMPT_TOKENS
from lab.wire_server import Timing
from llmphases import llm_call
from llmphases.calls import Ended
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


def client_of(wire_server):
    options = types.HttpOptions(base_url=wire_server.url, api_version="v1")
    return genai.Client(api_key="none", http_options=options)


@pytest.fixture
def client(wire_server):
    return client_of(wire_server)


def test_a_stream(client, calls, wire_server):
    for attempt in tries():
        model = wire_server.asks(Timing(first_token_s=0.04, gap_s=0.02, cached=100))
        stream = client.models.generate_content_stream(model=model, contents="hi")
        assert inspect.isgenerator(stream)
        assert "".join(chunk.text or "" for chunk in stream) == TEXT
        call = calls[-1]
        assert (call.name, call.requests) == (f"generate_content {model}", 1)
        assert (split(call), call.ended) == (STREAMED, Ended.EXHAUSTED)
        assert (call.usage.input_tokens, call.usage.output_tokens) == (PROMPT_TOKENS + 100, 3)
        assert (call.response_model, call.cache_result) == (f"{model}-001", "hit")
        with attempt:
            assert waits_as_the_server_does(call, wire_server.served(model)[0])


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
