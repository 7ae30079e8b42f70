"""HTTP requests of an exchange: what the wait is made of, and which attempts failed."""

from __future__ import annotations

import asyncio

import pytest

from llmphases import current_call, llm_call, retrieval
from llmphases.capture.clients.http_attempts import attempt_here, begin_http
from llmphases.conventions import CONNECT_TCP, CONNECT_TLS, CONNECTION_REUSED
from llmphases.testing import recorded

S = 1_000_000_000
HERE = "http://here/chat"


@pytest.fixture
def heard(clock):
    with recorded(clock) as found:
        yield found


def seconds(call):
    return {phase.value: ns / S for phase, ns in call.exclusive_ns.items()}


def details(call):
    return [(d.name, (d.end_ns - d.start_ns) / S) for d in call.details]


def sent(clock, *, connects=True, method="POST", address=HERE):
    """An attempt whose parts take 1 s each, up to the wait for its headers."""
    attempt = begin_http(method, address)
    if connects:
        attempt.connecting()
        clock.tick(1)
    attempt.sending()
    clock.tick(1)
    attempt.sent()
    clock.tick(1)
    return attempt


def answer(clock, attempt, status=200, headers=()):
    attempt.headers_came()
    attempt.answered(status, headers)
    clock.tick(1)
    attempt.body_over()


def asked(client, *steps, **asks):
    """Ask by the small SDK, inside of which all steps are done."""

    def do():
        return [step() for step in steps][-1]

    return client.ask(do, model="m", **asks)


def test_the_parts_of_a_wait_are_details_of_it(client, heard, clock):
    asked(client, lambda: answer(clock, sent(clock)))
    (call,) = heard.calls
    assert details(call) == [("connect", 1), ("send", 1), ("wait_headers", 1), ("read_first", 1)]
    assert (seconds(call), call.requests) == ({"inference": 4}, 1)
    assert {d.cost.value for d in call.details} == {"unsplit"}
    (wait,) = [p for p in heard.phases if not p.is_detail]
    assert wait.attributes == {CONNECTION_REUSED: False}


def test_a_connection_that_was_there_before(client, heard, clock):
    asked(client, lambda: answer(clock, sent(clock, connects=False)))
    assert details(heard.calls[0])[0] == ("send", 1)
    assert heard.phases[-1].attributes == {CONNECTION_REUSED: True}


def test_a_connection_that_may_have_been_made_unseen(client, heard, clock):
    asked(client, lambda: begin_http("POST", HERE).sending(may_be_new=True))
    assert [p.attributes for p in heard.phases] == [{}, {}]


def test_the_attempt_that_waits_here(client, heard, clock):
    def wait():
        attempt = begin_http("POST", HERE)
        assert attempt_here() is attempt
        attempt.headers_came()
        assert attempt_here() is None

    assert attempt_here() is None
    asked(client, wait)


def test_the_times_of_the_parts_of_connecting_are_attributes_of_that_detail(client, heard, clock):
    def connect():
        attempt = begin_http("POST", HERE)
        attempt.connecting()
        for took, attribute in ((0.25, CONNECT_TCP), (0.5, CONNECT_TLS)):
            attempt.part_begins()
            clock.tick(took)
            attempt.part_ends(attribute)
        attempt.sending()

    asked(client, connect)
    (connected,) = [p for p in heard.phases if p.name == "connect"]
    assert connected.attributes == {CONNECT_TCP: 0.25, CONNECT_TLS: 0.5}


def test_two_handshakes_for_one_connection_are_added_up(client, heard, clock):
    """With a proxy, and through it with the server; those of the next connection are apart."""

    def connect():
        attempt = begin_http("POST", HERE)
        for handshakes in ((0.5, 0.25), (0.125,)):
            attempt.connecting()
            for took in handshakes:
                attempt.part_begins()
                clock.tick(took)
                attempt.part_ends(CONNECT_TLS)
            attempt.sending()

    asked(client, connect)
    told = [p.attributes for p in heard.phases if p.name == "connect"]
    assert told == [{CONNECT_TLS: 0.75}, {CONNECT_TLS: 0.125}]


def test_a_failed_attempt_and_the_pause_after_it_are_a_retry(client, heard, clock):
    def fail(status):
        answer(clock, sent(clock), status)
        clock.tick(2)

    asked(client, lambda: fail(503), lambda: fail(429), lambda: answer(clock, sent(clock)))
    (call,) = heard.calls
    assert (call.requests, call.retries, call.error_type) == (3, 2, None)
    assert seconds(call) == {"retry": 12, "inference": 4}
    assert [p.error_type for p in heard.phases if p.name == "retry"] == ["503", "429"]
    assert [a.error_type for a in heard.open_calls[0].asked] == ["503", "429", None]


@pytest.mark.parametrize("error", [TimeoutError(), ConnectionResetError()])
def test_so_is_one_that_got_no_response(client, heard, clock, error):
    asked(client, lambda: sent(clock).failed(error), lambda: answer(clock, sent(clock)))
    name = type(error).__name__
    assert [p.error_type for p in heard.phases if p.name == "retry"] == [name]
    assert [p.error_type for p in heard.phases if p.name == "wait_headers"] == [name, None]


def test_so_is_one_whose_body_broke(client, heard, clock):
    def broken():
        attempt = sent(clock)
        attempt.headers_came()
        attempt.answered(200, [])
        clock.tick(1)
        attempt.body_over(ConnectionError())

    asked(client, broken, lambda: answer(clock, sent(clock)))
    assert heard.calls[0].retries == 1


def test_who_reads_no_further_is_no_failure(client, heard, clock):
    def left():
        attempt = sent(clock)
        attempt.headers_came()
        attempt.answered(200, [])
        attempt.body_over(GeneratorExit())

    asked(client, left)
    assert heard.calls[0].retries == 0
    assert {p.error_type for p in heard.phases} == {None}


def test_the_last_failure_stays_a_failed_request(client, heard, clock):
    def fail():
        answer(clock, sent(clock), 500)
        raise ValueError("theirs")

    with pytest.raises(ValueError, match="theirs"):
        asked(client, fail)
    (call,) = heard.calls
    assert (call.requests, call.retries, call.error_type) == (1, 0, "ValueError")
    assert seconds(call) == {"retry": 3}
    assert call.unattributed_ns == S
    assert heard.open_calls[0].asked[0].error_type == "500"


def test_the_client_itself_tries_to_connect_again(client, heard, clock):
    def connect():
        attempt = begin_http("POST", HERE)
        attempt.connecting()
        clock.tick(1)
        attempt.failed(ConnectionRefusedError())
        clock.tick(2)
        attempt.again()
        attempt.connecting()
        clock.tick(1)
        attempt.sending()

    asked(client, connect)
    assert seconds(heard.calls[0]) == {"retry": 3, "inference": 1}


def test_what_is_asked_once_more_after_an_answer_is_the_next_request(client, heard, clock):
    def with_a_tool():
        answer(clock, sent(clock))
        clock.tick(5)

    asked(client, with_a_tool, lambda: answer(clock, sent(clock, connects=False)))
    (call,) = heard.calls
    assert (call.requests, call.retries) == (2, 0)
    assert (seconds(call), call.unattributed_ns) == ({"inference": 7}, 5 * S)


def test_what_is_asked_elsewhere_first_is_part_of_the_wait(client, heard, clock):
    def look(status):
        answer(clock, sent(clock, method="GET", address="http://keys/"), status)

    def take_a_key():
        answer(clock, sent(clock, address="http://keys/"))

    asked(client, lambda: look(404), take_a_key, lambda: answer(clock, sent(clock)))
    (call,) = heard.calls
    assert (call.requests, seconds(call)) == (1, {"inference": 12})
    assert len(call.details) == 12


def test_a_redirection_is_no_answer(client, heard, clock):
    asked(client, lambda: answer(clock, sent(clock), 307), lambda: answer(clock, sent(clock)))
    assert heard.calls[0].requests == 1


def test_two_at_once_are_not_told_apart(client, heard, clock):
    def both():
        first = begin_http("POST", HERE)
        assert begin_http("POST", HERE) is None
        first.failed(ValueError())

    asked(client, both)
    assert heard.calls[0].requests == 1


def test_what_the_server_says_in_headers(client, heard, clock):
    said = [("openai-processing-ms", "1500")]
    asked(
        client,
        lambda: answer(clock, sent(clock), 503, [("openai-processing-ms", "1")]),
        lambda: answer(clock, sent(clock), 200, said),
    )
    (call,) = heard.calls
    assert (call.reported, call.reported_trusted) == ({"openai-processing-ms": 1500.0}, None)


def test_in_a_request_block_there_are_details_alone(heard, clock):
    with llm_call("mine") as mine, mine.request():
        answer(clock, sent(clock), 503, [("openai-processing-ms", "1")])
        answer(clock, sent(clock), 200, [("openai-processing-ms", "2")])
        mine.first_token()
        late = begin_http("POST", HERE)
        late.sending()
        late.failed(TimeoutError())
    (call,) = heard.calls
    assert (call.requests, seconds(call)) == (1, {"time_to_first_token": 8, "generation": 0})
    assert (len(call.details), call.reported) == (8, {"openai-processing-ms": 2.0})


def test_outside_an_exchange_nothing_is_looked_at(heard, clock):
    assert begin_http("POST", HERE) is None
    with llm_call("mine") as mine:
        assert begin_http("POST", HERE) is None
        with mine.request():
            with retrieval():
                assert begin_http("POST", HERE) is None
            with llm_call("another"):
                assert begin_http("POST", HERE) is None
        assert begin_http("POST", HERE) is None


def test_what_comes_after_the_call_changes_nothing(client, heard, clock):
    attempt = asked(client, lambda: sent(clock))
    (call,) = heard.calls
    before = (call.details, len(heard.phases))
    attempt.headers_came()
    attempt.answered(503, [])
    attempt.body_over(ValueError())
    attempt.again()
    assert (call.details, len(heard.phases)) == before


def test_a_later_attempt_is_current_while_it_lasts(client, heard, clock):
    from llmphases.capture.current import frame_here

    owners = []

    def first():
        attempt = sent(clock)
        assert attempt.enter() is None  # it is already
        attempt.failed(TimeoutError())

    def second():
        attempt = begin_http("POST", HERE)
        around = frame_here()
        token = attempt.enter()
        owners.append((frame_here().owner.request, around.owner.request))
        attempt.leave(token)
        assert frame_here() is around

    asked(client, first, second)
    assert owners == [(1, 0)]


def test_a_cancelled_attempt_is_no_retry(async_client, heard, clock):
    async def wait():
        attempt = sent(clock)
        try:
            await asyncio.Event().wait()
        except BaseException as error:
            attempt.failed(error)
            raise

    async def main():
        task = asyncio.ensure_future(async_client.ask(wait))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    (call,) = heard.calls
    assert (seconds(call), call.error_type) == ({"inference": 3}, "CancelledError")
    assert [p.error_type for p in heard.phases if p.name == "wait_headers"] == ["CancelledError"]


def test_marks_of_the_program_mean_the_newest_attempt(client, heard, clock):
    def streams_itself():
        attempt = sent(clock)
        attempt.headers_came()
        clock.tick(1)
        current_call().first_token()
        clock.tick(1)
        attempt.body_over()

    with llm_call("mine"):
        asked(client, lambda: answer(clock, sent(clock), 503), streams_itself)
    (call,) = heard.calls
    assert seconds(call) == {"retry": 4, "time_to_first_token": 4, "generation": 1}
    assert details(call)[-1] == ("read_first", 1)


def test_a_stream_that_asks_when_it_is_read_tells_of_the_last_attempt(client, heard, clock):
    def chunks():
        answer(clock, sent(clock), 503)
        attempt = sent(clock)
        attempt.headers_came()
        attempt.answered(200, [])
        clock.tick(1)
        yield {"choices": [{"delta": {"content": "a"}}]}
        clock.tick(3)
        yield {"choices": [{"delta": {"content": "b"}}]}
        attempt.body_over()

    assert len(list(client.read(chunks, model="m"))) == 2
    (call,) = heard.calls
    assert (call.requests, call.retries) == (2, 1)
    assert seconds(call) == {"retry": 4, "time_to_first_token": 4, "generation": 3}


def test_a_stream_of_that_kind_whose_body_breaks_is_told_of_by_who_reads_it(client, heard, clock):
    def chunks():
        attempt = sent(clock)
        attempt.headers_came()
        attempt.answered(200, [])
        clock.tick(1)
        yield {"choices": [{"delta": {"content": "a"}}]}
        clock.tick(3)
        attempt.body_over(ConnectionResetError())
        raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        list(client.read(chunks, model="m"))
    (call,) = heard.calls
    assert (call.error_type, call.requests) == ("ConnectionResetError", 1)
    assert seconds(call) == {"time_to_first_token": 4, "generation": 0}
