"""The real Anthropic SDK, hooked into: every way to ask is one request, and looks as before."""

from __future__ import annotations

import asyncio

import anthropic
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
from llmphases import llm_call, retrieval
from llmphases.calls import Ended
from llmphases.phases import Phase
from llmphases.testing import recorded_calls

ASKS = {"max_tokens": 20, "messages": [{"role": "user", "content": "hi"}]}
TEXT = "word0 word1 word2 "


@pytest.fixture(autouse=True)
def _hooked():
    with hooked("anthropic"):
        yield


@pytest.fixture
def calls():
    with recorded_calls() as found:
        yield found


@pytest.fixture
def client(wire_server):
    with anthropic.Anthropic(base_url=wire_server.url, api_key="none", max_retries=0) as made:
        yield made


def is_delta(event):
    return event.type == "content_block_delta"


def run_async(wire_server, use):
    """`use` with an async client; connections are closed on the loop that they were made on."""

    async def main():
        async with anthropic.AsyncAnthropic(
            base_url=wire_server.url, api_key="none", max_retries=0
        ) as client:
            return await use(client)

    return asyncio.run(main())


def test_a_stream(client, calls, wire_server):
    model = wire_server.asks(Timing(first_token_s=0.04, gap_s=0.02))
    reading = Reading()
    stream = client.messages.create(model=model, stream=True, **ASKS)
    assert isinstance(stream, anthropic.Stream)
    assert stream.response.status_code == 200
    kinds = [event.type for event in reading.all_of(stream, is_delta)]
    assert (kinds[0], kinds[-1]) == ("message_start", "message_stop")
    (call,) = calls
    assert (call.name, call.provider, call.stream) == (f"chat {model}", None, True)
    reading.assert_split(call, *wire_server.served(model))


def test_a_whole_answer(client, calls, wire_server):
    model = wire_server.asks(Timing(tokens=4, cached=100))
    answer = client.messages.create(model=model, **ASKS)
    assert type(answer) is anthropic.types.Message
    (call,) = calls
    assert (split(call), call.request_model, call.response_model) == (WHOLE, model, model)
    assert (call.usage.input_tokens, call.usage.output_tokens) == (PROMPT_TOKENS + 100, 4)
    assert (call.usage.cache_read_input_tokens, call.cache_result) == (100, "hit")


def test_a_prompt_that_was_written_to_the_cache_is_a_miss(client, calls, wire_server):
    model = wire_server.asks(Timing(cache_written=100))
    list(client.messages.create(model=model, stream=True, **ASKS))
    client.messages.create(model=wire_server.asks(), **ASKS)
    assert [call.cache_result for call in calls] == ["miss", None]
    assert calls[0].usage.input_tokens == PROMPT_TOKENS + 100


def test_a_stream_manager(client, calls, wire_server):
    model = wire_server.asks(Timing(first_token_s=0.04, gap_s=0.02))
    reading = Reading()
    asked = client.messages.stream(model=model, **ASKS)
    assert type(asked) is anthropic.MessageStreamManager
    with asked as stream:
        assert type(stream) is anthropic.MessageStream
        assert "".join(reading.all_of(stream.text_stream, bool)) == TEXT
        assert stream.get_final_message().content[0].text == TEXT
        assert stream.request_id is None
    (call,) = calls
    assert (call.name, call.usage.output_tokens) == (f"chat {model}", 3)
    reading.assert_split(call, *wire_server.served(model))


def test_a_stream_manager_asks_when_it_is_entered_and_may_be_left_early(client, calls, wire_server):
    model = wire_server.asks()
    with llm_call("mine"):
        asked = client.messages.stream(model=model, **ASKS)
        assert wire_server.served(model) == []
        with asked as stream:
            for event in stream:
                if event.type == "text":
                    break
        assert client.messages.stream(model=model, **ASKS) is not None  # never entered
    (call,) = calls
    assert (call.name, call.requests, call.chunks) == ("mine", 1, 3)  # the SDK keeps pings
    assert Phase.TIME_TO_FIRST_TOKEN in call.exclusive_ns


def test_a_stream_that_is_left_early_is_closed(client, calls, wire_server):
    with client.messages.stream(model=wire_server.asks(), **ASKS) as stream:
        next(iter(stream.text_stream))
    assert calls[0].ended is Ended.CLOSED


def test_the_beta_and_answers_of_a_shape(client, calls, wire_server):
    model = wire_server.asks()
    client.beta.messages.create(model=model, **ASKS)
    with client.beta.messages.stream(model=model, **ASKS) as stream:
        assert stream.get_final_message().usage.output_tokens == 3
    assert [split(call) for call in calls] == [WHOLE, STREAMED]


def test_raw_responses(client, calls, wire_server):
    model = wire_server.asks()
    raw = client.messages.with_raw_response
    assert raw.create(model=model, **ASKS).parse().content[0].text == TEXT
    stream = raw.create(model=model, stream=True, **ASKS).parse()
    assert isinstance(stream, anthropic.Stream)
    list(stream)
    assert [(split(call), call.requests) for call in calls] == [(WHOLE, 1), (STREAMED, 1)]
    assert [call.usage.output_tokens for call in calls] == [3, 3]


def test_a_stream_is_none_of_what_it_is_not(client, wire_server):
    stream = client.messages.create(model=wire_server.asks(), stream=True, **ASKS)
    assert not isinstance(stream, anthropic.AsyncStream)
    assert not isinstance(stream, anthropic.MessageStream)
    assert not isinstance(5, anthropic.Stream)
    stream.close()


def test_what_asks_no_model_is_nothing(client, calls, wire_server):
    wire_server.others["/v1/messages/count_tokens"] = {"input_tokens": 5}
    counted = client.messages.count_tokens(model="any", messages=ASKS["messages"])
    assert (counted.input_tokens, calls) == (5, [])


def test_inside_a_call_and_in_a_block(client, calls, wire_server):
    model = wire_server.asks()
    with llm_call("mine"):
        client.messages.create(model=model, **ASKS)
        with retrieval():
            client.messages.create(model=model, **ASKS)
        list(client.messages.create(model=model, stream=True, **ASKS))
    (call,) = calls
    assert (call.name, call.requests, call.usage.output_tokens) == ("mine", 2, 6)


def test_a_client_that_was_made_before_it_was_hooked_into(wire_server, calls):
    with hooked("anthropic"):
        pass  # leaves it not hooked into
    with anthropic.Anthropic(base_url=wire_server.url, api_key="none") as client:
        create = client.messages.create
        model = wire_server.asks()
        create(model=model, **ASKS)
        assert calls == []
        with hooked("anthropic"):
            create(model=model, **ASKS)
        assert [split(call) for call in calls] == [WHOLE]


def test_what_it_raises(client, calls, wire_server):
    with pytest.raises(anthropic.APIStatusError) as raised:
        client.messages.create(model=wire_server.asks(Timing(status=529)), **ASKS)
    assert raised.value.status_code == 529
    with (
        pytest.raises(anthropic.RateLimitError),
        client.messages.stream(model=wire_server.asks(Timing(status=429)), **ASKS),
    ):
        pass
    assert [call.error_type for call in calls] == [type(raised.value).__name__, "RateLimitError"]


def test_attempts_of_its_own(wire_server, calls):
    with (
        hooked("anthropic", http=True),
        anthropic.Anthropic(base_url=wire_server.url, api_key="none", max_retries=1) as client,
    ):
        model = wire_server.asks(Timing(fail_times=1, gap_s=0.01))
        reading = Reading()
        with client.messages.stream(model=model, **ASKS) as stream:
            reading.all_of(stream.text_stream, bool)
    reading.assert_retried(*calls, wire_server.served(model), pause_s=0.375)


def test_all_of_it_async(wire_server, calls):
    async def use(client):
        model = wire_server.asks()
        stream = await client.messages.create(model=model, stream=True, **ASKS)
        assert isinstance(stream, anthropic.AsyncStream)
        assert [event async for event in stream]
        assert (await client.messages.create(model=model, **ASKS)).content[0].text == TEXT
        async with client.messages.stream(model=model, **ASKS) as events:
            assert type(events) is anthropic.AsyncMessageStream
            assert "".join([text async for text in events.text_stream]) == TEXT
            assert (await events.get_final_message()).content[0].text == TEXT

    run_async(wire_server, use)
    assert [split(call) for call in calls] == [STREAMED, WHOLE, STREAMED]
    assert [call.usage.output_tokens for call in calls] == [3, 3, 3]


def test_an_async_stream_in_a_call_and_one_that_is_never_asked_for(wire_server, calls):
    async def use(client):
        model = wire_server.asks()
        async with llm_call("mine"), client.messages.stream(model=model, **ASKS) as events:
            async for event in events:
                if event.type == "text":
                    break

    run_async(wire_server, use)
    (call,) = calls
    assert (call.name, call.requests) == ("mine", 1)
    assert Phase.TIME_TO_FIRST_TOKEN in call.exclusive_ns
