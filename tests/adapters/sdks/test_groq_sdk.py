"""The real Groq SDK, hooked into."""

from __future__ import annotations

import asyncio

import groq
import httpx
import pytest

from lab.sse_server import Script
from llmphases.adapters.registry import instrument, uninstrument
from llmphases.testing import recorded_calls

ASKS = {"model": "small", "messages": [{"role": "user", "content": "hi"}]}
STREAMED = {"time_to_first_token", "generation"}


@pytest.fixture(autouse=True)
def _hooked():
    assert "groq" in instrument("groq").hooked
    yield
    uninstrument("groq")


@pytest.fixture
def calls():
    with recorded_calls() as found:
        yield found


@pytest.fixture
def extra(sse_server):
    return {"extra_body": Script(label=sse_server.fresh_label(), usage=True).extra_body()}


@pytest.fixture
def given(sse_server):
    return {"base_url": sse_server.url, "api_key": "none", "max_retries": 0}


def split(call):
    return {phase.value for phase in call.exclusive_ns} - {"transmission"}


def test_streamed_whole_and_raw(calls, given, extra):
    with groq.Groq(**given) as client:
        stream = client.chat.completions.create(stream=True, **ASKS, **extra)
        assert isinstance(stream, groq.Stream)
        list(stream)
        client.chat.completions.create(**ASKS, **extra)
        client.chat.completions.with_raw_response.create(**ASKS, **extra)
    assert [split(call) for call in calls] == [STREAMED, {"inference"}, {"inference"}]
    assert {call.name for call in calls} == {"chat small"}
    assert {call.usage.output_tokens for call in calls} == {3}


def test_awaited(calls, given, extra):
    async def main():
        async with groq.AsyncGroq(**given) as client:
            stream = await client.chat.completions.create(stream=True, **ASKS, **extra)
            assert len([chunk async for chunk in stream]) > 3
            await client.chat.completions.create(**ASKS, **extra)

    asyncio.run(main())
    assert [split(call) for call in calls] == [STREAMED, {"inference"}]


def test_whose_models_they_are(calls):
    http = httpx.Client(transport=httpx.MockTransport(lambda request: httpx.Response(500)))
    client = groq.Groq(api_key="none", max_retries=0, http_client=http)
    with client, pytest.raises(groq.InternalServerError):
        client.chat.completions.create(**ASKS)
    (call,) = calls
    assert (call.provider, call.error_type) == ("groq", "InternalServerError")
