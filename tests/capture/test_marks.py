"""What a program says about the call it is in; nothing of it ever raises."""

from __future__ import annotations

import asyncio
import logging

import pytest
from opentelemetry.trace import StatusCode

from llmphases import (
    Phase,
    Usage,
    call_of,
    current_call,
    llm_call,
    post_processing,
    retrieval,
    traced_llm_call,
    traced_stream,
)
from llmphases.capture.marks import LlmCall

S = 1_000_000_000


def test_marks_make_the_phases_of_a_request(timed_calls, clock):
    with llm_call("call") as call:
        clock.tick(1)
        call.request_sent()
        clock.tick(2)
        call.first_token("reasoning")
        clock.tick(1)
        call.first_token()
        clock.tick(3)
        call.last_token()
        clock.tick(1)
    (record,) = timed_calls
    assert record.exclusive_ns == {Phase.TIME_TO_FIRST_TOKEN: 2 * S, Phase.GENERATION: 4 * S}
    assert (record.first_token_ns, record.first_reasoning_ns) == (3 * S, 3 * S)
    assert record.first_answer_ns == 4 * S
    assert call.record is record


def test_a_failed_request_block_and_the_pause_are_a_retry(timed_calls, clock):
    with llm_call("call") as call:
        with pytest.raises(OSError), call.request():
            clock.tick(2)
            raise OSError
        clock.tick(1)
        with call.request():
            clock.tick(1)
            call.first_token()
    (record,) = timed_calls
    assert record.exclusive_ns[Phase.RETRY] == 3 * S
    assert record.exclusive_ns[Phase.TIME_TO_FIRST_TOKEN] == S
    assert (record.requests, record.retries) == (2, 1)


def test_the_error_that_ended_an_attempt_is_on_its_retry_span_and_in_the_counter(timed, clock):
    with llm_call("call") as call:
        for failure in (TimeoutError, ConnectionError):
            with pytest.raises(failure), call.request():
                clock.tick(2)
                raise failure
        with call.request():
            clock.tick(1)
    spans = timed.named("retry")
    assert [span.attributes["error.type"] for span in spans] == ["TimeoutError", "ConnectionError"]
    assert {span.status.status_code for span in spans} == {StatusCode.ERROR}
    assert {
        point.attributes["llmphases.reason"]: point.value
        for point in timed.points()["llmphases.retries"]
    } == {"TimeoutError": 1, "ConnectionError": 1}


def test_the_error_that_broke_a_stream_is_on_its_generation_span(timed, clock):
    def chunks():
        clock.tick(1)
        yield "token"
        clock.tick(1)
        raise ConnectionError

    with llm_call("call") as call:
        call.request_sent()
        with pytest.raises(ConnectionError):
            list(traced_stream(chunks()))
        call.request_sent()
        clock.tick(1)
    span = timed.one("generation")
    assert span.attributes["error.type"] == "ConnectionError"
    assert span.status.status_code is StatusCode.ERROR
    (point,) = timed.points()["llmphases.retries"]
    assert dict(point.attributes)["llmphases.reason"] == "ConnectionError"


async def test_a_request_block_is_asynchronous_too(timed_calls, clock):
    async with llm_call("call") as call, call.request():
        clock.tick(1)
        call.first_token()
        clock.tick(2)
    (record,) = timed_calls
    assert record.exclusive_ns == {Phase.TIME_TO_FIRST_TOKEN: S, Phase.GENERATION: 2 * S}


async def test_requests_of_tasks_are_told_apart(timed_calls, clock):
    """Marks apply to the newest request of the task."""

    async def ask(call, turns):
        with call.request():
            await turns[0].wait()
            call.first_token()
            await turns[1].wait()

    gates = [[asyncio.Event(), asyncio.Event()] for _ in range(2)]
    async with llm_call("call") as call:
        tasks = [asyncio.create_task(ask(call, turns)) for turns in gates]
        for at, who, which in ((1, 0, 0), (1, 1, 0), (1, 1, 1), (1, 0, 1)):
            await asyncio.sleep(0)
            clock.tick(at)
            gates[who][which].set()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
    (record,) = timed_calls
    spans = sorted((s.phase, s.start_ns // S, s.end_ns // S) for s in record.stretches)
    assert spans == [
        (Phase.GENERATION, 1, 4),
        (Phase.GENERATION, 2, 3),
        (Phase.TIME_TO_FIRST_TOKEN, 0, 1),
        (Phase.TIME_TO_FIRST_TOKEN, 0, 2),
    ]


def test_the_current_call_is_found_wherever_the_context_is(calls):
    def deep():
        current_call().units(3)

    assert not current_call()
    with llm_call("call"), retrieval():
        assert current_call()
        deep()
    assert not current_call()
    assert calls[0].units == 3


def test_what_is_known_is_kept(calls):
    with llm_call("call", model="asked", provider="openai") as call:
        call.model("other", response="answered", provider="azure")
        call.units(12)
        call.batch_size(4)
        call.cache("miss")
        call.usage(input_tokens=10, output_tokens=5)
        call.usage({"prompt_tokens": 1, "completion_tokens": 2})
        call.set_attribute("team", "boxes")
    (record,) = calls
    assert (record.request_model, record.response_model) == ("other", "answered")
    assert (record.provider, record.units, record.batch_size) == ("azure", 12, 4)
    assert record.cache_result == "miss"
    assert record.usage == Usage(input_tokens=11, output_tokens=7)
    assert record.attributes == {"team": "boxes"}


MARKS = [
    lambda call: call.request_sent(),
    lambda call: call.request().__enter__(),
    lambda call: call.first_token(),
    lambda call: call.first_token("whatever"),
    lambda call: call.last_token(),
    lambda call: call.usage(input_tokens=1),
    lambda call: call.usage(object()),
    lambda call: call.cache("hit"),
    lambda call: call.model("m"),
    lambda call: call.units(1),
    lambda call: call.batch_size(1),
    lambda call: call.set_attribute("a", 1),
]


@pytest.mark.parametrize("mark", MARKS)
def test_marks_outside_and_after_a_call_do_nothing(calls, caplog, mark):
    with llm_call("call") as call:
        pass
    known = call.record
    for handle in (call, LlmCall(None), current_call()):
        mark(handle)
        assert not handle
    assert calls == [known]
    assert [r for r in caplog.records if r.levelno >= logging.WARNING] == []


class Hostile:
    """Raises whatever is asked of it."""

    def __getattribute__(self, name):
        raise RuntimeError("hostile")

    def __str__(self):
        raise RuntimeError("hostile")

    __repr__ = __eq__ = __hash__ = __bool__ = __int__ = __str__


WRONG = [
    lambda call, bad: call.usage(bad),
    lambda call, bad: call.usage(input_tokens=bad),
    lambda call, bad: call.cache(bad),
    lambda call, bad: call.units(bad),
    lambda call, bad: call.batch_size(bad),
    lambda call, bad: call.set_attribute(bad, 1),
    lambda call, bad: call.set_attribute("key", bad),
    lambda call, bad: call.model(bad),
    lambda call, bad: call.first_token(bad),
]


BAD = {
    "hostile": Hostile, "negative": lambda: -1, "true": lambda: True, "text": lambda: "x",
    "none": lambda: None, "float": lambda: 1.5, "list": list, "dict": dict, "object": object,
}  # fmt: skip


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("use", WRONG)
def test_wrong_arguments_never_raise_and_are_said_once(calls, caplog, use, bad):
    with llm_call("call") as call:
        for _ in range(3):
            use(call, BAD[bad]())
    assert len(calls) == 1
    assert len([r for r in caplog.records if r.levelno >= logging.WARNING]) <= 1


def test_one_log_line_says_what_was_wrong(calls, caplog):
    with llm_call("call") as call:
        call.units(-5)
        call.units("many")
        call.cache("perhaps")
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 2
    assert "call.units" in messages[0]
    assert "call.cache" in messages[1]


def test_only_whole_numbers_are_usage(calls, caplog):
    """RC-029"""
    caplog.set_level(logging.DEBUG, "llmphases")

    class Empty:
        prompt_tokens = completion_tokens = output_tokens_details = None

    with llm_call("call") as call:
        for given in (None, {}, {"usage": None}, Empty(), {"prompt_tokens": "12"}, object()):
            call.usage(given)
        call.usage({"prompt_tokens": -1, "completion_tokens": True})
        call.usage(input_tokens="7", output_tokens=2.5)
        call.usage({"prompt_tokens": 3, "completion_tokens": 4})
    (record,) = calls
    assert record.usage == Usage(input_tokens=3, output_tokens=4)
    assert all(r.levelno == logging.DEBUG for r in caplog.records)


def test_our_own_names_are_not_given_away(calls):
    with llm_call("call") as call:
        call.set_attribute("llmphases.fixed.share", 5)
        call.set_attribute("gen_ai.usage.input_tokens", 5)
        call.set_attribute("error.type", "mine")
        call.set_attribute("", 5)
    assert calls[0].attributes == {}


def test_names_of_the_conventions_that_we_do_not_write_are_the_programs(calls):
    with llm_call("call") as call:
        call.set_attribute("gen_ai.conversation.id", "c-1")
        call.set_attribute("process.owner", "me")
    assert calls[0].attributes == {"gen_ai.conversation.id": "c-1", "process.owner": "me"}


def test_what_is_opened_for_a_stream_counts_in_its_call(timed_calls, clock):
    """`call_of`: the function has returned, the stream is still read."""

    @traced_llm_call
    def ask():
        yield from ("a", "b")

    for stream in (ask(), traced_llm_call(lambda: iter(["a", "b"]), name="object")()):
        next(stream)
        with post_processing():
            clock.tick(1)
        with call_of(stream) as call, post_processing():
            assert call
            clock.tick(2)
        assert list(stream) == ["b"]
        with call_of(stream) as call:
            assert not call
    for record in timed_calls:
        assert record.exclusive_ns[Phase.POST_PROCESSING] == 2 * S, record.name


@pytest.mark.parametrize("other", [None, 5, "text", [1], iter([1]), (n for n in ())])
def test_what_is_no_stream_of_ours_has_no_call(calls, other):
    with call_of(other) as call:
        assert not call
        call.first_token()
    assert calls == []
