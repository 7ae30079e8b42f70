"""What is recorded where an SDK's method asks a model, and what the program gets."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars

import pytest

from llmphases import llm_call, retrieval, step
from llmphases.calls import Ended
from llmphases.phases import Phase

SECOND = 1_000_000_000
TIMINGS = {"prompt_ms": 1000.0, "predicted_ms": 3000.0, "predicted_n": 30}


def after(clock, seconds, answer):
    def answered():
        clock.tick(seconds)
        return answer

    return answered


def chunks(clock):
    clock.tick(1)
    yield {"choices": [{"delta": {"role": "assistant", "content": ""}}]}
    clock.tick(1)
    yield {"choices": [{"delta": {"content": "a"}}]}
    clock.tick(3)
    yield {"choices": [{"delta": {"content": "b"}}]}
    yield {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}


def seconds(call):
    return {phase.value: ns / SECOND for phase, ns in call.exclusive_ns.items()}


def test_outside_any_call_it_is_a_call_of_its_own(client, calls, clock):
    answer = object()
    assert client.ask(after(clock, 4, answer), model="m") is answer
    (call,) = calls
    assert (call.name, call.operation, call.request_model, call.provider) == (
        "chat m", "chat", "m", "us",
    )  # fmt: skip
    assert (seconds(call), call.unattributed_ns, call.requests) == ({"inference": 4}, 0, 1)


@pytest.mark.parametrize("model", [None, 5, ""])
def test_a_model_that_is_no_text_is_not_told(client, calls, model):
    client.ask(1, model=model)
    assert (calls[0].name, calls[0].request_model) == ("chat", model if model == "" else None)


def test_inside_a_call_it_is_a_request_of_that(client, calls, clock):
    with llm_call("mine", provider="theirs"):
        client.ask(after(clock, 2, None), model="m")
        clock.tick(1)
        client.ask(after(clock, 3, None), model="n")
    (call,) = calls
    assert (call.name, call.requests, call.request_model, call.provider) == (
        "mine", 2, "m", "theirs",
    )  # fmt: skip
    assert (seconds(call), call.unattributed_ns) == ({"inference": 5}, SECOND)


def test_in_a_block_it_belongs_to_that(client, calls, clock):
    with llm_call("mine"):
        with retrieval():
            client.ask(after(clock, 2, None), model="m")
        with step("a detail"):
            client.ask(after(clock, 1, None), model="m")
    (call,) = calls
    assert (call.requests, seconds(call)) == (0, {"retrieval": 2})


def test_in_a_request_block_it_is_that_request(client, calls, clock):
    with llm_call("mine") as mine:
        with mine.request():
            clock.tick(1)
            client.ask(after(clock, 2, {"usage": {"prompt_tokens": 7}}), model="m")
            clock.tick(1)
        with pytest.raises(ValueError, match="theirs"), mine.request():
            client.ask(ValueError("theirs"))
    (call,) = calls
    assert (call.requests, call.request_model, call.usage.input_tokens) == (2, "m", 7)
    assert (seconds(call), call.unattributed_ns) == ({"inference": 3, "retry": 0}, SECOND)


def test_a_method_that_asks_by_another_one_is_one_request(client, calls, clock):
    client.ask_inside(after(clock, 2, None), model="m")
    (call,) = calls
    assert (call.requests, seconds(call)) == (1, {"inference": 2})


@pytest.mark.parametrize("is_inside", [True, False])
def test_a_task_that_it_has_left_behind_asks_for_itself(client, calls, is_inside):
    with llm_call("mine") if is_inside else contextlib.nullcontext():
        left = client.ask(contextvars.copy_context, model="m")
        left.run(client.ask, "later", model="n")
    names = [(call.name, call.requests) for call in calls]
    assert names == ([("mine", 2)] if is_inside else [("chat m", 1), ("chat n", 1)])


def test_a_stream_is_watched_to_its_end(client, calls, clock):
    stream = client.ask(lambda: chunks(clock), model="m")
    assert not calls
    assert len(list(stream)) == 4
    (call,) = calls
    assert seconds(call) == {"time_to_first_token": 2, "generation": 3}
    assert (call.ended, call.usage.output_tokens, call.stream) == (Ended.EXHAUSTED, 2, True)


def test_a_stream_of_an_open_call_leaves_it_open(client, calls, clock):
    with llm_call("mine") as mine:
        list(client.ask(lambda: chunks(clock), model="m"))
        assert mine
        clock.tick(1)
    (call,) = calls
    assert seconds(call) == {"time_to_first_token": 2, "generation": 3}
    assert call.unattributed_ns == SECOND


def test_what_the_server_says_of_its_times_splits_a_whole_answer(client, calls, clock):
    answer = {"model": "m-1", "usage": {"prompt_tokens": 7, "completion_tokens": 30}}
    client.ask(after(clock, 5, {**answer, "timings": TIMINGS}), model="m")
    (call,) = calls
    assert seconds(call) == {"time_to_first_token": 2, "generation": 3}
    assert (call.response_model, call.usage.input_tokens) == ("m-1", 7)
    assert (call.reported_trusted, call.first_token_ns) == (True, None)


def test_a_stream_within_a_dict_is_watched_there(client, calls, clock):
    answer = client.call("/ask", chunks(clock))
    assert (answer["path"], len(list(answer["stream"]))) == ("/ask", 4)
    assert seconds(calls[0]) == {"time_to_first_token": 2, "generation": 3}


def test_uses_of_a_method_that_ask_no_model_are_nothing(client, calls):
    stream = iter(())
    assert client.call("/list", stream)["stream"] is stream
    with llm_call("mine"):
        client.call("/list", stream)
    (call,) = calls
    assert (call.name, call.requests) == ("mine", 0)


@pytest.mark.parametrize("error", [ValueError("theirs"), KeyboardInterrupt()])
def test_what_is_raised_goes_through_as_it_is(client, calls, error):
    with pytest.raises(type(error)) as raised:
        client.ask(error, model="m")
    assert raised.value is error
    assert raised.value.__context__ is None
    assert calls[0].error_type == type(error).__name__


def test_an_error_that_the_program_handles_is_a_retry(client, calls, clock):
    with llm_call("mine"):
        with pytest.raises(ValueError, match="theirs"):
            client.ask(ValueError("theirs"))
        clock.tick(2)
        client.ask(after(clock, 1, None))
    (call,) = calls
    assert (seconds(call), call.retries, call.error_type) == ({"retry": 2, "inference": 1}, 1, None)


def test_a_coroutine_asks_when_it_is_awaited(async_client, calls, clock):
    async def main():
        body = async_client.ask(after_later, model="m")
        clock.tick(7)
        return await body

    async def after_later():
        clock.tick(2)
        return "answer"

    assert asyncio.run(main()) == "answer"
    assert seconds(calls[0]) == {"inference": 2}


def test_a_method_that_gives_a_coroutine_only_if_it_is_asked_so(client, calls, clock):
    async def answer():
        clock.tick(2)
        return "answer"

    body = client.ask(answer, model="m")
    assert body.__name__ == "answer"
    assert asyncio.run(body) == "answer"
    assert [seconds(call) for call in calls] == [{"inference": 2}]


def test_an_awaited_error_and_a_cancellation(async_client, calls):
    async def wait():
        await asyncio.Event().wait()

    async def main():
        with pytest.raises(ValueError, match="theirs"):
            await async_client.ask(ValueError("theirs"))
        task = asyncio.ensure_future(async_client.ask(wait))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert [call.error_type for call in calls] == ["ValueError", "CancelledError"]
    assert Phase.RETRY not in calls[1].exclusive_ns


@pytest.mark.filterwarnings("error")
def test_a_coroutine_that_nobody_awaits_asks_nothing(async_client, calls):
    with pytest.warns(RuntimeWarning, match="'AsyncClient.ask' was never awaited"):
        async_client.ask("answer")
    assert calls == []
