"""A generator that asks when it is first advanced is no request before."""

from __future__ import annotations

import asyncio
import gc
import inspect

import pytest

from capture.clients.test_exchange import SECOND, after, chunks, seconds
from llmphases import llm_call, retrieval
from llmphases.calls import Ended
from llmphases.capture import current

SPLIT = {"time_to_first_token": 2, "generation": 3}


def test_it_asks_with_its_first_step(client, calls, clock):
    stream = client.read(lambda: chunks(clock), model="m")
    assert inspect.isgenerator(stream)
    clock.tick(7)
    assert len(list(stream)) == 4
    (call,) = calls
    assert (call.name, call.requests, call.ended) == ("chat m", 1, Ended.EXHAUSTED)
    assert (seconds(call), call.duration_ns, call.usage.output_tokens) == (SPLIT, 5 * SECOND, 2)


def test_in_a_call_all_before_is_not_the_models(client, calls, clock):
    with llm_call("mine"):
        stream = client.read(lambda: chunks(clock))
        clock.tick(7)
        list(stream)
        clock.tick(1)
    (call,) = calls
    assert (seconds(call), call.unattributed_ns, call.requests) == (SPLIT, 8 * SECOND, 1)


def test_read_after_the_call_that_it_was_made_in_it_is_a_call_of_its_own(client, calls, clock):
    with llm_call("mine"):
        stream = client.read(lambda: chunks(clock))
    list(stream)
    assert [(call.name, call.requests) for call in calls] == [("mine", 0), ("chat", 1)]


def test_in_a_block_it_belongs_to_that(client, calls, clock):
    with llm_call("mine"), retrieval():
        list(client.read(lambda: chunks(clock)))
    assert (calls[0].requests, seconds(calls[0])) == (0, {"retrieval": 5})


def test_never_read_it_is_nothing(client, calls, clock):
    stream = client.read(lambda: chunks(clock))
    stream.close()
    del stream
    client.read(lambda: chunks(clock))
    gc.collect()
    assert calls == []


def test_a_whole_answer_is_handed_out_as_it_is(client, calls, clock):
    answer = {"model": "m-1"}
    assert client.read(answer, stream=False) is answer
    assert calls[0].response_model == "m-1"
    assert client.read(answer) is not answer
    assert len(calls) == 1


def test_only_its_first_step_is_within_what_asks(client, calls):
    frames = []

    def chunks():
        for _ in range(2):
            frames.append(current.frame_here())
            yield {"choices": [{"delta": {"content": "a"}}]}

    list(client.read(chunks))
    assert [frame.exchange is not None for frame in frames] == [True, False]
    assert frames[0].owner is not frames[1].owner


def test_an_error_of_its_first_step_goes_through(client, calls):
    def refused():
        raise ConnectionError("theirs")
        yield

    with pytest.raises(ConnectionError, match="theirs"):
        next(client.read(refused))
    assert (calls[0].error_type, calls[0].ended) == ("ConnectionError", Ended.ERROR)


def test_awaited_it_is_no_request_yet(async_client, calls, clock):
    async def main():
        stream = await async_client.read(lambda: chunks(clock))
        assert inspect.isasyncgen(stream)
        clock.tick(7)
        assert not calls
        assert [chunk async for chunk in stream]
        await async_client.read(after(clock, 2, None), stream=False)

    asyncio.run(main())
    assert [(call.requests, seconds(call)) for call in calls] == [
        (1, SPLIT),
        (1, {"inference": 0}),
    ]
