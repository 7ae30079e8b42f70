"""The real OpenAI SDK, hooked into: every way to ask is one request, and looks as before."""

from __future__ import annotations

import asyncio

import openai
import pytest

from lab.sse_server import Script
from llmphases import llm_call
from llmphases.adapters.registry import instrument, uninstrument
from llmphases.calls import Ended
from llmphases.testing import recorded_calls

ASKS = {"model": "small", "messages": [{"role": "user", "content": "hi"}]}


@pytest.fixture(autouse=True)
def _hooked():
    assert "openai" in instrument("openai").hooked
    yield
    uninstrument("openai")


@pytest.fixture
def calls():
    with recorded_calls() as found:
        yield found


@pytest.fixture
def client(sse_server):
    with openai.OpenAI(base_url=f"{sse_server.url}/v1", api_key="none", max_retries=0) as made:
        yield made


@pytest.fixture
def extra(sse_server):
    return {"extra_body": Script(label=sse_server.fresh_label(), usage=True).extra_body()}


def split(call):
    return {phase.value for phase in call.exclusive_ns} - {"transmission"}


def test_a_stream(client, calls, extra):
    stream = client.chat.completions.create(stream=True, **ASKS, **extra)
    assert isinstance(stream, openai.Stream)
    assert stream.response.status_code == 200
    list(stream)
    (call,) = calls
    assert (call.name, call.requests, call.ended) == ("chat small", 1, Ended.EXHAUSTED)
    assert split(call) == {"time_to_first_token", "generation"}
    assert (call.usage.output_tokens, call.provider) == (3, None)


def test_a_whole_answer(client, calls, extra):
    answer = client.chat.completions.create(**ASKS, **extra)
    assert type(answer) is openai.types.chat.ChatCompletion
    (call,) = calls
    assert (split(call), call.usage.output_tokens) == ({"inference"}, 3)


def test_a_stream_manager_is_one_request(client, calls, extra):
    with client.chat.completions.stream(**ASKS, **extra) as events:
        kinds = {event.type for event in events}
    assert "content.delta" in kinds
    (call,) = calls
    assert (call.requests, split(call)) == (1, {"time_to_first_token", "generation"})


def test_inside_a_call(client, calls, extra):
    with llm_call("mine"):
        list(client.chat.completions.create(stream=True, **ASKS, **extra))
        client.chat.completions.create(**ASKS, **extra)
    (call,) = calls
    assert (call.name, call.requests, call.usage.output_tokens) == ("mine", 2, 6)


def test_a_raw_response_is_handed_out_as_it_is(client, calls, extra):
    raw = client.chat.completions.with_raw_response.create(**ASKS, **extra)
    assert type(raw.parse()) is openai.types.chat.ChatCompletion
    assert [split(call) for call in calls] == [{"inference"}]


def test_what_it_raises(client, calls, sse_server):
    script = Script(label=sse_server.fresh_label(), fail_times=1)
    with pytest.raises(openai.InternalServerError):
        client.chat.completions.create(**ASKS, extra_body=script.extra_body())
    assert calls[0].error_type == "InternalServerError"


def test_all_of_it_async(sse_server, calls, extra):
    async def main():
        url = f"{sse_server.url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
            stream = await client.chat.completions.create(stream=True, **ASKS, **extra)
            assert isinstance(stream, openai.AsyncStream)
            assert [chunk async for chunk in stream]
            assert await client.chat.completions.create(**ASKS, **extra)
            async with client.chat.completions.stream(**ASKS, **extra) as events:
                assert [event async for event in events]

    asyncio.run(main())
    streamed = {"time_to_first_token", "generation"}
    assert [split(call) for call in calls] == [streamed, {"inference"}, streamed]
