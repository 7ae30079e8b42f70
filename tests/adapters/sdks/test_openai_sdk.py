"""The real OpenAI SDK, hooked into: every way to ask is one request, and looks as before."""

from __future__ import annotations

import asyncio
import time

import openai
import pytest

from adapters.sdks.wired_sdks import STREAMED, WHOLE, hooked, split
from lab.sse_server import Script
from lab.wire_formats import PROMPT_TOKENS
from lab.wire_server import Timing
from llmphases import llm_call, retrieval
from llmphases.calls import Ended
from llmphases.phases import Phase
from llmphases.testing import recorded_calls

ASKS = {"model": "small", "messages": [{"role": "user", "content": "hi"}]}
TEXT = "word0 word1 word2 "
of_later_versions = pytest.mark.skipif(
    tuple(map(int, openai.__version__.split(".")[:2])) < (1, 66),
    reason="this version has no responses",
)


def helpers(client):
    """Where `stream` and `parse` are: under `beta` once."""
    chat = client.chat.completions
    return chat if hasattr(chat, "stream") else client.beta.chat.completions


@pytest.fixture(autouse=True)
def _hooked():
    with hooked("openai"):
        yield


@pytest.fixture
def calls():
    with recorded_calls() as found:
        yield found


@pytest.fixture
def client(sse_server):
    with openai.OpenAI(base_url=f"{sse_server.url}/v1", api_key="none", max_retries=0) as made:
        yield made


@pytest.fixture
def wire_client(wire_server):
    with openai.OpenAI(base_url=f"{wire_server.url}/v1", api_key="none", max_retries=0) as made:
        yield made


@pytest.fixture
def extra(sse_server):
    return {"extra_body": Script(label=sse_server.fresh_label(), usage=True).extra_body()}


def told(calls):
    """What kind of split each call has, and how many tokens."""
    return [(split(call), call.usage and call.usage.output_tokens) for call in calls]


def test_a_stream(client, calls, extra):
    stream = client.chat.completions.create(stream=True, **ASKS, **extra)
    assert isinstance(stream, openai.Stream)
    assert stream.response.status_code == 200
    list(stream)
    (call,) = calls
    assert (call.name, call.requests, call.ended) == ("chat small", 1, Ended.EXHAUSTED)
    assert split(call) == STREAMED
    assert (call.usage.output_tokens, call.provider) == (3, None)


def test_a_whole_answer(client, calls, extra):
    answer = client.chat.completions.create(**ASKS, **extra)
    assert type(answer) is openai.types.chat.ChatCompletion
    assert told(calls) == [(WHOLE, 3)]


def test_the_first_token_and_the_last_are_stamped_when_they_come(wire_client, wire_server, calls):
    """Between what the server did and what the test saw, however late everybody is."""
    model = wire_server.asks(Timing(first_token_s=0.04, gap_s=0.02))
    asked_ns = time.monotonic_ns()
    stream = wire_client.chat.completions.create(stream=True, **ASKS | {"model": model})
    seen_ns = [time.monotonic_ns() for chunk in stream if chunk.choices[0].delta.content]
    (served,), (call,) = wire_server.served(model), calls
    first_ns, generation_ns, held_ns = (
        call.exclusive_ns.get(phase, 0)
        for phase in (Phase.TIME_TO_FIRST_TOKEN, Phase.GENERATION, Phase.TRANSMISSION)
    )
    assert first_ns + held_ns >= served.first_token_ns - served.received_ns
    assert first_ns <= seen_ns[0] - asked_ns
    assert generation_ns + held_ns >= served.last_token_ns - seen_ns[0]
    assert generation_ns <= seen_ns[-1] - served.first_token_ns


def test_a_stream_manager_is_one_request(client, calls, extra):
    with helpers(client).stream(**ASKS, **extra) as events:
        kinds = {event.type for event in events}
    assert "content.delta" in kinds
    (call,) = calls
    assert (call.requests, split(call)) == (1, STREAMED)


def test_a_stream_manager_that_is_left_early_ends_its_call(client, calls, extra):
    with helpers(client).stream(**ASKS, **extra) as events:
        assert calls == []
        next(iter(events))
    assert [call.ended for call in calls] == [Ended.CLOSED]
    with helpers(client).stream(**ASKS, **extra) as events:
        next(iter(events))
        events.close()
        assert len(calls) == 2


def test_answers_of_a_shape(client, calls, extra):
    answer = helpers(client).parse(**ASKS, **extra)
    assert type(answer).__name__.startswith("ParsedChatCompletion")
    assert told(calls) == [(WHOLE, 3)]


def test_inside_a_call_and_in_a_block(client, calls, extra):
    with llm_call("mine"):
        list(client.chat.completions.create(stream=True, **ASKS, **extra))
        with retrieval():
            client.chat.completions.create(**ASKS, **extra)
        client.chat.completions.create(**ASKS, **extra)
    (call,) = calls
    assert (call.name, call.requests, call.usage.output_tokens) == ("mine", 2, 6)


@of_later_versions
def test_responses(wire_client, calls, wire_server):
    model = wire_server.asks(Timing(cached=5))
    asks = {"model": model, "input": "hi"}
    assert wire_client.responses.create(**asks).output_text == TEXT
    stream = wire_client.responses.create(stream=True, **asks)
    assert isinstance(stream, openai.Stream)
    assert [event.type for event in stream][-1] == "response.completed"
    with wire_client.responses.stream(**asks) as events:
        assert events.get_final_response().output_text == TEXT
    assert wire_client.responses.parse(**asks).output_text == TEXT
    assert told(calls) == [(WHOLE, 3), (STREAMED, 3), (STREAMED, 3), (WHOLE, 3)]
    for call in calls:
        assert (call.name, call.requests, call.response_model) == (f"chat {model}", 1, model)
        assert (call.usage.input_tokens, call.cache_result) == (PROMPT_TOKENS + 5, "hit")


def test_text_completions_and_embeddings(wire_client, calls, wire_server):
    model = wire_server.asks()
    wire_client.completions.create(model=model, prompt="hi")
    list(wire_client.completions.create(model=model, prompt="hi", stream=True))
    wire_server.others["/v1/embeddings"] = {
        "object": "list", "model": "e-1", "usage": {"prompt_tokens": 7, "total_tokens": 7},
        "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}],
    }  # fmt: skip
    wire_client.embeddings.create(model="e", input="hi", encoding_format="float")
    assert told(calls) == [(WHOLE, 3), (STREAMED, 3), (WHOLE, None)]
    assert [call.name for call in calls] == [f"text_completion {model}"] * 2 + ["embeddings e"]
    assert (calls[-1].usage.input_tokens, calls[-1].response_model) == (7, "e-1")


def test_raw_responses(client, calls, extra):
    raw = client.chat.completions.with_raw_response.create(**ASKS, **extra)
    assert told(calls) == [(WHOLE, 3)]
    assert type(raw.parse()) is openai.types.chat.ChatCompletion
    assert raw.retries_taken == 0
    raw = client.chat.completions.with_raw_response.create(stream=True, **ASKS, **extra)
    stream = raw.parse()
    assert isinstance(stream, openai.Stream)
    assert raw.parse() is stream
    assert len(calls) == 1
    list(stream)
    assert told(calls[1:]) == [(STREAMED, 3)]


def test_streaming_responses(client, calls, extra):
    create = client.chat.completions.with_streaming_response.create
    with create(stream=True, **ASKS, **extra) as response:
        assert sum(line.startswith("data: {") for line in response.iter_lines()) == 6
    with create(stream=True, **ASKS, **extra) as response:
        list(response.parse())
    with create(**ASKS, **extra) as response:
        assert calls[2:] == []
        assert response.parse().usage.completion_tokens == 3
    with create(**ASKS, **extra) as response:
        assert response.json()["usage"]["completion_tokens"] == 3
    assert told(calls) == [(STREAMED, 3)] * 2 + [(WHOLE, 3)] * 2


def test_a_streaming_response_that_nobody_reads(client, calls, extra):
    with client.chat.completions.with_streaming_response.create(stream=True, **ASKS, **extra):
        assert calls == []
    with client.chat.completions.with_streaming_response.create(**ASKS, **extra):
        pass
    assert [(call.ended, split(call)) for call in calls] == [(Ended.CLOSED, WHOLE), (None, WHOLE)]


def test_what_a_program_keeps_from_before_is_hooked_into_below(sse_server, extra, calls):
    with hooked("openai"):
        pass  # leaves it not hooked into
    with openai.OpenAI(base_url=sse_server.base_url, api_key="none") as client:
        kept = client.chat.completions.create, client.chat.completions.with_raw_response.create
        for create in kept:
            create(**ASKS, **extra)
        assert calls == []
        with hooked("openai"):
            for create in kept:
                create(**ASKS, **extra)
    assert told(calls) == [(WHOLE, 3)] * 2
    assert {call.name for call in calls} == {"chat small"}


def test_whose_models_they_are_on_azure(sse_server, calls, extra):
    with openai.AzureOpenAI(
        azure_endpoint=sse_server.url, api_key="none", api_version="2024-10-21", max_retries=0
    ) as client:
        client.chat.completions.create(**ASKS, **extra)
    assert [(call.provider, call.request_model) for call in calls] == [("azure.ai.openai", "small")]


def test_what_asks_no_model_is_nothing(wire_client, wire_server, calls):
    wire_server.others["/v1/moderations"] = {"id": "m", "model": "m", "results": []}
    assert wire_client.moderations.create(input="hi").results == []
    assert calls == []


def test_what_it_raises(client, calls, sse_server):
    script = Script(label=sse_server.fresh_label(), fail_times=2)
    for ask in (client.chat.completions.create, client.chat.completions.with_raw_response.create):
        with pytest.raises(openai.InternalServerError):
            ask(**ASKS, extra_body=script.extra_body())
    assert [call.error_type for call in calls] == ["InternalServerError"] * 2


def test_all_of_it_async(sse_server, calls, extra):
    async def main():
        url = f"{sse_server.url}/v1"
        async with openai.AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
            chat = client.chat.completions
            stream = await chat.create(stream=True, **ASKS, **extra)
            assert isinstance(stream, openai.AsyncStream)
            assert [chunk async for chunk in stream]
            assert await chat.create(**ASKS, **extra)
            async with helpers(client).stream(**ASKS, **extra) as events:
                assert [event async for event in events]
            raw = await chat.with_raw_response.create(stream=True, **ASKS, **extra)
            assert [chunk async for chunk in raw.parse()]
            async with chat.with_streaming_response.create(stream=True, **ASKS, **extra) as raw:
                assert [chunk async for chunk in await raw.parse()]
            async with chat.with_streaming_response.create(**ASKS, **extra) as raw:
                assert await raw.json()
            async with helpers(client).stream(**ASKS, **extra) as events:
                await anext(aiter(events))

    asyncio.run(main())
    assert told(calls[:6]) == [
        (STREAMED, 3), (WHOLE, 3), (STREAMED, 3), (STREAMED, 3), (STREAMED, 3), (WHOLE, 3),
    ]  # fmt: skip
    assert calls[6].ended is Ended.CLOSED
