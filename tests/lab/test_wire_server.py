"""The stand-in servers keep the delays they are given, whatever they write."""

from __future__ import annotations

import contextlib
import http.client
import json
import time

import pytest

from lab.wire_server import Timing, WireServer

SECOND = 1_000_000_000
PATHS = [
    "/v1/messages",
    "/v1beta/models/{model}:streamGenerateContent?alt=sse",
    "/api/chat",
    "/api/generate",
    "/v1/chat/completions",
    "/openai/v1/chat/completions",
    "/v1/completions",
    "/model/{model}/converse-stream",
]


@pytest.fixture(scope="module")
def server():
    with WireServer() as made:
        yield made


def post(server, path, body):
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("POST", path, json.dumps(body), {"content-type": "application/json"})
    with contextlib.closing(connection), connection.getresponse() as response:
        return response.status, response.read()


@pytest.mark.parametrize("path", PATHS)
def test_no_token_is_early(server, path):
    model = server.asks(Timing(first_token_s=0.03, gap_s=0.01, tokens=4))
    asked_ns = time.monotonic_ns()
    status, body = post(server, path.format(model=model), {"model": model, "stream": True})
    (served,) = server.served(model)
    assert (status, body.count(b"word")) == (200, 4)
    assert asked_ns <= served.received_ns <= served.first_token_ns - 0.03 * SECOND
    assert served.last_token_ns - served.received_ns >= 0.06 * SECOND
    assert served.last_piece_ns <= time.monotonic_ns()


@pytest.mark.parametrize("path", ["/v1/messages", "/api/chat", "/model/{model}/converse"])
def test_a_whole_answer_takes_as_long_as_the_stream(server, path):
    model = server.asks(Timing(first_token_s=0.02, gap_s=0.01, tokens=3))
    status, body = post(server, path.format(model=model), {"model": model})
    (served,) = server.served(model)
    assert (status, body.count(b"word")) == (200, 3)
    assert served.last_piece_ns - served.received_ns >= 0.04 * SECOND


def test_an_error_and_a_path_that_is_not_known(server):
    assert post(server, "/v1/messages", {"model": server.asks(Timing(status=529))})[0] == 529
    assert post(server, "/nowhere", {})[0] == 404


@pytest.mark.parametrize("status", [429, 503])
def test_the_first_requests_fail_as_they_are_told_to(server, status):
    timing = Timing(fail_times=1, fail_status=status, fail_s=0.03, retry_after_s=0.5)
    model = server.asks(timing)
    asks = "/v1/messages", {"model": model}
    assert [post(server, *asks)[0], post(server, *asks)[0]] == [status, 200]
    failed, answered = server.served(model)
    assert [kind for kind, _ in failed.pieces] == ["error"]
    assert failed.last_piece_ns - failed.received_ns >= 0.03 * SECOND
    assert [kind for kind, _ in answered.pieces] == ["whole"]


def test_a_status_says_when_to_come_back(server):
    model = server.asks(Timing(status=429, retry_after_s=0.5))
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    connection.request("POST", "/v1/messages", json.dumps({"model": model}))
    assert connection.getresponse().getheader("retry-after") == "0.5"
    connection.close()


@pytest.mark.parametrize("tokens", [0, 2])
def test_a_stream_is_cut_after_so_many_tokens(server, tokens):
    model = server.asks(Timing(opening_s=0.03, fail_times=1, cut_after=tokens))
    asks = "/v1/messages", {"model": model, "stream": True}
    with pytest.raises(http.client.IncompleteRead) as cut:
        post(server, *asks)
    assert cut.value.partial.count(b"word") == tokens
    assert post(server, *asks)[1].count(b"word") == 3
    broken, _ = server.served(model)
    assert [kind for kind, _ in broken.pieces][3:] == ["token"] * tokens + ["cut"]
    assert broken.pieces[0][1] - broken.received_ns >= 0.03 * SECOND
