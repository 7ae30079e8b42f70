"""`llm` as a library, hooked into: a response is one request, however it is read."""

from __future__ import annotations

import asyncio
import gc

import llm
import pytest
from llm.default_plugins.openai_models import AsyncChat, Chat
from llm.parts import StreamEvent

from lab.llama import CLOSE
from llmphases import llm_call
from llmphases.adapters.registry import instrument, uninstrument
from llmphases.calls import Ended
from llmphases.testing import FakeClock, recorded_calls

SECOND = 1_000_000_000
SPLIT = {"time_to_first_token": 2, "generation": 3}


@pytest.fixture(autouse=True)
def _hooked(monkeypatch, tmp_path):
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    assert instrument("llm", "openai").hooked == ("llm", "openai")
    yield
    uninstrument("llm", "openai")


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def calls(clock):
    with recorded_calls(clock) as found:
        yield found


class Slow(llm.Model):
    """Two seconds to its first token, three more to its last."""

    model_id = "slow"
    can_stream = True

    def __init__(self, clock):
        self.clock = clock
        self.asked = 0

    def execute(self, prompt, stream, response, conversation):
        self.asked += 1
        self.clock.tick(2)
        yield "a"
        self.clock.tick(3)
        yield StreamEvent(type="text", chunk="b")
        response.set_usage(
            input=7, output=2, details={"prompt_tokens_details": {"cached_tokens": 3}}
        )
        response.set_resolved_model("slow-1")


class SlowAsync(llm.AsyncModel):
    """The same, awaited."""

    model_id = "slow"
    can_stream = True

    def __init__(self, clock):
        self._sync = Slow(clock)

    async def execute(self, prompt, stream, response, conversation):
        for chunk in self._sync.execute(prompt, stream, response, conversation):
            yield chunk


def seconds(call):
    return {phase.value: ns / SECOND for phase, ns in call.exclusive_ns.items()}


WAYS = {
    "text": lambda response: [response.text()],
    "iteration": list,
    "events": lambda response: [event.chunk for event in response.stream_events()],
    "twice": lambda response: [response.text()] * bool(response.text()),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_it_asks_when_it_is_read_however_that_is(calls, clock, way):
    response = Slow(clock).prompt("hi")
    clock.tick(7)
    assert calls == []
    assert "".join(way(response)) == "ab"
    (call,) = calls
    assert (call.name, seconds(call)) == ("chat slow", SPLIT)
    assert (call.usage.input_tokens, call.usage.cache_read_input_tokens) == (7, 3)
    assert (call.response_model, call.ended) == ("slow-1", Ended.EXHAUSTED)


def test_inside_a_call_it_is_a_request_of_that(calls, clock):
    model = Slow(clock)
    with llm_call("mine"):
        conversation = model.conversation()
        conversation.prompt("hi").text()
        clock.tick(1)
        conversation.prompt("again").text()
    (call,) = calls
    assert (call.name, call.requests, call.usage.output_tokens) == ("mine", 2, 4)
    assert seconds(call) == {"time_to_first_token": 4, "generation": 6}


ASYNC_WAYS = {"text": "text", "await": "await", "iteration": "iterate", "events": "events"}


@pytest.mark.parametrize("way", ASYNC_WAYS.values(), ids=ASYNC_WAYS)
def test_the_same_awaited(calls, clock, way):
    async def main():
        response = SlowAsync(clock).prompt("hi")
        if way == "iterate":
            return [chunk async for chunk in response]
        if way == "events":
            return [event.chunk async for event in response.astream_events()]
        if way == "await":
            await response
        return [await response.text()]

    assert "".join(asyncio.run(main())) == "ab"
    (call,) = calls
    assert (call.name, seconds(call), call.usage.output_tokens) == ("chat slow", SPLIT, 2)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_what_it_asks_by_openais_sdk_is_the_same_request(sse_server):
    about = {"model_id": "mine", "model_name": "small", "api_base": sse_server.base_url}

    async def awaited():
        return await AsyncChat(**about).prompt("hi", key="none").text()

    with recorded_calls() as calls:
        assert Chat(**about).prompt("hi", key="none").text() == asyncio.run(awaited())
    for call in calls:
        assert (call.name, call.requests, call.ended) == ("chat mine", 1, Ended.EXHAUSTED)
        assert {phase.value for phase in call.exclusive_ns} >= {"time_to_first_token", "generation"}
    assert len(calls) == 2
    gc.collect()  # here, where the clients that it leaves open are no surprise


def test_what_its_model_raises(calls):
    class Failing(Slow):
        def execute(self, prompt, stream, response, conversation):
            raise ValueError("theirs")
            yield

    with pytest.raises(ValueError, match="theirs"):
        Failing(None).prompt("hi").text()
    assert [call.error_type for call in calls] == ["ValueError"]


@pytest.mark.real
def test_a_real_model(llama_server):
    about = {"model_id": "mine", "model_name": "mid", "api_base": llama_server.base_url}
    model = Chat(**about, headers=CLOSE)
    with recorded_calls() as calls:
        response = model.prompt("hello world", key="none", max_tokens=16)
        assert list(response)
    (call,) = calls
    assert {"time_to_first_token", "generation"} <= {phase.value for phase in call.exclusive_ns}
    assert (call.requests, call.usage.output_tokens) == (1, response.output_tokens)
