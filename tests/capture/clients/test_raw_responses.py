"""Raw responses: their request lasts until the answer is taken out, and they stay what they are."""

from __future__ import annotations

import asyncio
import gc
import json

import pytest

from capture.clients import small_raw
from capture.clients.small_raw import SSE, APIResponse, AsyncAPIResponse, Client, Http, Stream
from llmphases import llm_call
from llmphases.calls import Ended
from llmphases.capture.clients.contract import Method, Reading, Sdk
from llmphases.capture.clients.patches import Patches

SECOND = 1_000_000_000
WHERE = "capture.clients.small_raw:"
BOTH = ("parse", "close")
RAW = Sdk(
    name="raw", package="capture", distribution="there is none", since=(1,), before=(2,),
    methods=(Method(where=f"{WHERE}Client.ask"),),
    readings=(
        *(Reading(where=f"{WHERE}APIResponse.{n}") for n in (*BOTH, "read", "iter_lines")),
        *(Reading(where=f"{WHERE}AsyncAPIResponse.{n}") for n in BOTH),
    ),
)  # fmt: skip
ANSWER = {
    "model": "m-1",
    "usage": {"prompt_tokens": 7, "completion_tokens": 30},
    "timings": {"prompt_ms": 1000.0, "predicted_ms": 3000.0, "predicted_n": 30},
}


@pytest.fixture(autouse=True)
def _hooked():
    patches = Patches(RAW)
    assert patches.install() is None
    yield
    patches.uninstall()


@pytest.fixture
def client():
    return Client()


@pytest.fixture
def ask(client, clock):
    """Ask for a response that is there after a second."""

    def asked(response):
        def answer():
            clock.tick(1)
            return response

        return client.ask(answer)

    return asked


def whole(body, *, is_closed=False):
    return Http(body, kind="application/json; charset=utf-8", is_closed=is_closed)


def arrived(body):
    return APIResponse(whole(json.dumps(body).encode(), is_closed=True))


def streamed(clock, kind=APIResponse):
    return kind(Http(b"", kind=SSE, is_closed=False), Stream(chunks(clock)))


def chunks(clock):
    clock.tick(1)
    yield {"choices": [{"delta": {"content": "a"}}]}
    clock.tick(3)
    yield {"choices": [{"delta": {"content": "b"}}]}
    yield {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}


def seconds(call):
    return {phase.value: ns / SECOND for phase, ns in call.exclusive_ns.items()}


def test_of_a_body_that_is_there_all_is_told_at_once(calls, client, clock):
    def answer():
        clock.tick(5)
        return response

    response = arrived(ANSWER)
    assert client.ask(answer) is response
    (call,) = calls
    assert (call.response_model, call.usage.output_tokens) == ("m-1", 30)
    assert seconds(call) == {"time_to_first_token": 2, "generation": 3}
    assert response.parse() == ANSWER
    assert len(calls) == 1


SILENT = {
    "empty": b"",
    "no JSON": b"no JSON",
    "a list": b"[1]",
    "too deep": b"[" * 100_000,
    "too long": b" " * (1 << 20) + json.dumps(ANSWER).encode(),
}


@pytest.mark.parametrize("body", SILENT.values(), ids=SILENT)
def test_a_body_that_says_nothing_is_an_answer_still(calls, ask, body):
    ask(APIResponse(whole(body, is_closed=True)))
    assert [(seconds(call), call.usage) for call in calls] == [({"inference": 1}, None)]


@pytest.mark.parametrize("way", [lambda r: r.parse(), lambda r: json.loads(r.read())])
def test_a_body_that_is_still_to_come_is_waited_for(calls, ask, clock, way):
    def body():
        clock.tick(2)
        return ANSWER

    response = ask(APIResponse(whole(body)))
    assert not calls
    assert way(response) == ANSWER
    (call,) = calls
    assert (call.duration_ns, call.usage.output_tokens) == (3 * SECOND, 30)
    response.close()
    assert len(calls) == 1


def test_a_body_that_does_not_come_is_a_failure(calls, ask):
    response = ask(APIResponse(whole(ValueError("theirs"))))
    with pytest.raises(ValueError, match="theirs"):
        response.parse()
    assert [call.error_type for call in calls] == ["ValueError"]


@pytest.mark.parametrize("end", ["close", "drop"])
def test_a_body_that_nobody_reads(calls, ask, clock, end):
    response = ask(APIResponse(whole(ANSWER)))
    clock.tick(1)
    if end == "close":
        response.close()
    del response
    gc.collect()
    assert [(seconds(call), call.error_type) for call in calls] == [({"inference": 2}, None)]


def test_a_stream_is_watched_from_when_the_response_is_there(calls, ask, clock):
    response = ask(streamed(clock))
    clock.tick(2)
    stream = response.parse()
    assert (type(stream) is Stream, isinstance(stream, Stream)) == (False, True)
    assert response.parse() is stream
    assert not calls
    assert len(list(stream)) == 3
    (call,) = calls
    assert seconds(call) == {"time_to_first_token": 2, "transmission": 2, "generation": 3}
    assert (call.ended, call.usage.output_tokens) == (Ended.EXHAUSTED, 2)


def test_its_lines_are_watched_as_well(calls, ask, clock):
    assert len(list(ask(streamed(clock)).iter_lines())) == 3
    assert seconds(calls[0]) == {"time_to_first_token": 2, "generation": 3}


def test_the_lines_of_a_whole_body_are_no_tokens(calls, ask, clock):
    with llm_call("mine"):
        response = ask(APIResponse(whole(ANSWER)))
        assert list(response.iter_lines()) == [json.dumps(ANSWER)]
        response.close()
    assert seconds(calls[0]) == {"inference": 1}


@pytest.mark.parametrize("taken", [True, False])
def test_closed_it_is_over_at_once(calls, ask, clock, taken):
    response = ask(streamed(clock))
    stream = response.parse() if taken else None
    if stream is not None:
        next(stream)
    response.close()
    assert [call.ended for call in calls] == [Ended.CLOSED]


def test_dropped_it_is_over_at_once(calls, ask, clock):
    response = ask(streamed(clock))
    del response
    assert [call.ended for call in calls] == [Ended.DROPPED]


def test_a_stream_that_was_dropped_does_not_wait_for_its_response(calls, ask, clock):
    response = ask(streamed(clock))
    next(response.parse())
    assert [call.ended for call in calls] == [Ended.DROPPED]
    assert len(list(response.parse())) == 2


def test_read_as_a_whole_a_stream_is_unobserved(calls, ask, clock):
    response = ask(streamed(clock))
    response.read()
    response.close()
    assert [call.ended for call in calls] == [Ended.UNOBSERVED]


def test_all_of_it_awaited(calls, ask, clock):
    async def main():
        stream = await ask(streamed(clock, AsyncAPIResponse)).parse()
        assert len(list(stream)) == 3
        response = ask(AsyncAPIResponse(whole(ANSWER)))
        assert await response.parse() == ANSWER
        response = ask(AsyncAPIResponse(whole(ValueError("theirs"))))
        with pytest.raises(ValueError, match="theirs"):
            await response.parse()
        await ask(streamed(clock, AsyncAPIResponse)).close()

    asyncio.run(main())
    assert [(call.ended, call.error_type) for call in calls] == [
        (Ended.EXHAUSTED, None), (None, None), (None, "ValueError"), (Ended.CLOSED, None),
    ]  # fmt: skip


def test_responses_of_no_request_are_left_alone(calls, clock):
    stream = Stream(chunks(clock))
    response = APIResponse(Http(b"", kind=SSE, is_closed=False), stream)
    assert response.parse() is stream
    response.close()
    assert calls == []


def test_responses_and_their_classes_are_what_they_were(ask, clock):
    response = ask(streamed(clock))
    assert type(response) is small_raw.APIResponse
    assert set(vars(response)) == {"http_response", "_stream", "_parsed"}
