"""urllib3 and requests in a block of the program, and as an SDK would use them."""

from __future__ import annotations

import pytest
import requests
import urllib3

from adapters.http.seen import (
    HERE,
    MESSAGES,
    PARTS,
    Asks,
    attempts_are_true,
    closed_port,
    hooked,
    parts,
    reused,
    waits,
)
from lab.sse_server import Script
from llmphases import llm_call
from llmphases.adapters.http.urllib3_client import URLLIB3

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def _hooked():
    with hooked(URLLIB3):
        yield


@pytest.fixture(params=["requests", "urllib3"])
def post(request, sse_server):
    """Ask the server; what is kept of connections is closed in the end."""
    url = f"{sse_server.base_url}/chat/completions"

    def ask(script, **how):
        return client.request("POST", url, json={**MESSAGES, **script.extra_body()}, **how)

    if request.param == "requests":
        with requests.Session() as client:
            yield ask
    else:
        with urllib3.PoolManager() as client:
            yield ask


@pytest.fixture
def script(sse_server):
    return lambda **how: Script(label=sse_server.fresh_label(), **how)


def test_the_parts_of_a_whole_answer_s_wait(post, script, heard, sse_server):
    asked = script(headers_s=0.02, headers={"openai-processing-ms": "20"})
    with llm_call("mine") as mine, mine.request():
        post(asked)
    (call,), (served,) = heard.calls, sse_server.served(asked.label)
    assert (parts(call), call.requests, reused(heard)) == (PARTS, 1, [False])
    assert call.reported == {"openai-processing-ms": 20.0}
    _connect, send, wait, read = (p for p in heard.phases if p.is_detail)
    assert send.start_ns <= served.received_ns
    assert served.headers_ns <= wait.end_ns == read.start_ns


def test_the_parts_of_a_stream_s_wait(script, heard, sse_server):
    body = {**MESSAGES, **script(first_token_s=0.02).extra_body(), "stream": True}
    with llm_call("mine") as mine, mine.request(), requests.Session() as session:
        url = f"{sse_server.base_url}/chat/completions"
        with session.post(url, json=body, stream=True) as response:
            for line in response.iter_lines():
                if b"word" in line:
                    mine.first_token()
    (call,) = heard.calls
    assert parts(call) == PARTS
    last = heard.phases[PARTS.index("read_first")]
    assert last.end_ns == waits(heard)[0].end_ns


def test_a_connection_that_is_used_again(post, script, heard):
    with llm_call("mine") as mine:
        for _ in range(2):
            with mine.request():
                post(script())
    assert reused(heard) == [False, True]


def test_its_own_retries_are_those_of_the_method(script, heard, sse_server):
    retry = urllib3.Retry(2, status_forcelist=[503], allowed_methods=None, backoff_factor=0.01)
    asked = script(fail_times=2)
    body = {**MESSAGES, **asked.extra_body()}

    def ask():
        url = f"{sse_server.base_url}/chat/completions"
        with urllib3.PoolManager(retries=retry) as client:
            return client.request("POST", url, json=body)

    with hooked(HERE):
        assert Asks().ask(ask, model="m").status == 200
    (call,) = heard.calls
    assert (call.requests, call.retries) == (3, 2)
    assert [p.error_type for p in waits(heard)] == ["503", "503", None]
    attempts_are_true(heard, sse_server.served(asked.label))


def test_a_server_that_is_not_there(heard):
    retry = urllib3.Retry(1, backoff_factor=0.01)

    def ask():
        with urllib3.PoolManager(retries=retry) as client:
            return client.request("POST", f"http://127.0.0.1:{closed_port()}", body=b"")

    with hooked(HERE), pytest.raises(urllib3.exceptions.MaxRetryError):
        Asks().ask(ask, model="m")
    (call,) = heard.calls
    assert (call.requests, parts(call), call.error_type) == (2, ["connect"] * 2, "MaxRetryError")
    assert [p.error_type for p in waits(heard)] == ["NewConnectionError"] * 2


def test_an_attempt_that_takes_too_long(script, heard, sse_server):
    body = {**MESSAGES, **script(headers_s=2).extra_body()}

    def ask():
        return requests.post(f"{sse_server.base_url}/chat/completions", json=body, timeout=0.2)

    with hooked(HERE), pytest.raises(requests.exceptions.Timeout):
        Asks().ask(ask, model="m")
    (wait,) = waits(heard)
    assert (wait.name, wait.error_type) == ("retry", "ReadTimeoutError")


def test_outside_of_it_nothing_is_looked_at(post, script, heard):
    with llm_call("mine"):
        post(script())
    (call,) = heard.calls
    assert (call.requests, call.details) == (0, ())
