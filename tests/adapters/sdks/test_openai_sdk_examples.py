"""The streaming examples that OpenAI's SDK documents: unchanged, and the same with hooks.

Also a real model behind its language, by whose own clock the split is compared.
"""

from __future__ import annotations

import asyncio

import openai
import pytest
from openai.lib.streaming.chat import ChatCompletionStream

from adapters.sdks.wired_sdks import STREAMED, WHOLE, hooked, split
from lab.llama import CLOSE, EXACT
from lab.tries import tries
from lab.wire_server import Timing
from llmphases.phases import Phase
from llmphases.testing import recorded_calls

HAS_RESPONSES = tuple(map(int, openai.__version__.split(".")[:2])) >= (1, 66)
MS = 1_000_000
HELLO = [{"role": "user", "content": "Say this is a test"}]


def helpers(client):
    """Where `stream` is: under `beta` once."""
    chat = client.chat.completions
    return chat if hasattr(chat, "stream") else client.beta.chat.completions


def chunks(client, model):
    stream = client.chat.completions.create(model=model, messages=HELLO, stream=True)
    for chunk in stream:
        if not chunk.choices:
            continue
        print(chunk.choices[0].delta.content, end="")
    print()


def events(client, model):
    stream = client.responses.create(model=model, input="Write a story.", stream=True)
    for event in stream:
        print(event.type)


def chat_helper(client, model):
    with helpers(client).stream(model=model, messages=HELLO) as stream:
        for event in stream:
            if event.type == "content.delta":
                print(event.delta, flush=True, end="")
            elif event.type == "content.done":
                print("\n", event.content)
        print(stream.get_final_completion().to_json(), isinstance(stream, ChatCompletionStream))


def until_done(client, model):
    with helpers(client).stream(model=model, messages=HELLO) as stream:
        stream.until_done()
        print(stream.current_completion_snapshot.choices[0].message.content)


def responses_helper(client, model):
    with client.responses.stream(model=model, input="Write a story.") as stream:
        for event in stream:
            if "output_text" in event.type:
                print(event.type)
    print(stream.get_final_response().to_json())


def whole(client, model):
    response = client.responses.create(model=model, instructions="You are a pirate.", input="Hi")
    print(response.output_text)


def raw(client, model):
    response = client.chat.completions.with_raw_response.create(messages=HELLO, model=model)
    print(response.headers.get("content-type"), response.parse().to_json())


def streaming_response(client, model):
    with client.chat.completions.with_streaming_response.create(
        messages=HELLO, model=model
    ) as response:
        print(response.headers.get("content-type"))
        for line in response.iter_lines():
            print(line)


def with_and_next(client, model):
    with client.chat.completions.create(model=model, messages=HELLO, stream=True) as stream:
        print(next(stream).id, type(stream).__name__, isinstance(stream, openai.Stream))


async def async_chunks(client, model):
    stream = await client.chat.completions.create(model=model, messages=HELLO, stream=True)
    async for chunk in stream:
        print(chunk.choices[0].delta.content or "", end="")
    print()


async def async_chat_helper(client, model):
    async with helpers(client).stream(model=model, messages=HELLO) as stream:
        async for event in stream:
            if event.type == "content.delta":
                print(event.delta, flush=True, end="")
        print((await stream.get_final_completion()).to_json())


async def async_responses_helper(client, model):
    async with client.responses.stream(model=model, input="Write a story.") as stream:
        async for event in stream:
            print(event.type)
        print((await stream.get_final_response()).to_json())


async def async_raw(client, model):
    response = await client.chat.completions.with_raw_response.create(messages=HELLO, model=model)
    print(response.parse().to_json())
    async with client.chat.completions.with_streaming_response.create(
        messages=HELLO, model=model, stream=True
    ) as streamed:
        async for line in streamed.iter_lines():
            print(line)


SYNC = [
    chunks, events, chat_helper, until_done, responses_helper, whole, raw, streaming_response,
    with_and_next,
]  # fmt: skip
ASYNC = [async_chunks, async_chat_helper, async_responses_helper, async_raw]
OF_RESPONSES = [events, responses_helper, whole, async_responses_helper]
CUT_SHORT = [with_and_next, streaming_response]
"""Which do not take all of an answer out in a way that shows its usage."""


def run(example, wire_server, model):
    about = {"base_url": f"{wire_server.url}/v1", "api_key": "none", "max_retries": 0}
    if example in SYNC:
        with openai.OpenAI(**about) as client:
            example(client, model)
        return

    async def main():
        async with openai.AsyncOpenAI(**about) as client:
            await example(client, model)

    asyncio.run(main())


@pytest.mark.parametrize("example", SYNC + ASYNC)
def test_a_documented_example_prints_the_same(example, wire_server, capsys):
    if example in OF_RESPONSES and not HAS_RESPONSES:
        pytest.skip("this version has no responses")
    model = wire_server.asks(Timing(tokens=5))
    run(example, wire_server, model)
    plain = capsys.readouterr().out
    with hooked("openai"), recorded_calls() as calls:
        run(example, wire_server, model)
    assert capsys.readouterr().out == plain
    assert plain
    assert [call.requests for call in calls] == [1] * (2 if example is async_raw else 1)
    assert {call.error_type for call in calls} == {None}
    if example not in CUT_SHORT:
        assert {call.usage.output_tokens for call in calls} == {5}


@pytest.mark.real
def test_a_real_model_whose_server_keeps_times_of_its_own(llama_server):
    asks = {"model": "mid", "messages": HELLO, "max_tokens": 24, "extra_body": EXACT}
    about = {"base_url": llama_server.base_url, "api_key": "none", "max_retries": 0}
    with (
        openai.OpenAI(**about, default_headers=CLOSE) as client,
        hooked("openai"),
        recorded_calls() as calls,
    ):
        for attempt in tries():
            chunks = list(client.chat.completions.create(stream=True, **asks))
            timings = chunks[-1].timings
            call = calls[-1]
            assert (split(call), call.reported_trusted) == (STREAMED, True)
            with attempt:
                ours_ms = call.exclusive_ns[Phase.GENERATION] / MS
                stalls_ms = call.exclusive_ns.get(Phase.TRANSMISSION, 0) / MS
                assert abs(ours_ms + stalls_ms - timings["predicted_ms"]) < 10 + 0.1 * ours_ms
        answer = client.chat.completions.create(**asks)
        assert split(calls[-1]) == STREAMED  # as the server says
        assert calls[-1].first_token_ns is None
        assert calls[-1].usage.output_tokens == answer.usage.completion_tokens == 24


@pytest.mark.real
def test_responses_of_a_real_model(llama_server):
    asks = {"model": "mid", "input": "hi", "max_output_tokens": 16, "extra_body": EXACT}
    about = {"base_url": llama_server.base_url, "api_key": "none", "max_retries": 0}
    with (
        openai.OpenAI(**about, default_headers=CLOSE) as client,
        hooked("openai"),
        recorded_calls() as calls,
    ):
        client.responses.create(**asks)
        list(client.responses.create(stream=True, **asks))
    assert [split(call) for call in calls] == [WHOLE, STREAMED]
    assert [call.usage.output_tokens for call in calls] == [16, 16]
