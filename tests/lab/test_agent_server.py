"""The stand-in for the servers of agent tools keeps its word, and real clients understand it."""

from __future__ import annotations

import http.client
import json
import time

import pytest

from lab.agent_server import AgentServer, Turn

SECOND = 1_000_000_000
PATHS = [
    "/v1/messages?beta=true",
    "/v1/responses",
    "/v1/chat/completions",
    "/v1beta/models/{model}:streamGenerateContent?alt=sse",
]
CALL = ("look_up", {"what": "the answer"})


@pytest.fixture(scope="module")
def server():
    with AgentServer() as made:
        yield made


def ask(server, path, model, method="POST", **options):
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    body = json.dumps({"model": model}).encode()
    connection.request(method, path.format(model=model), body, **options)
    response = connection.getresponse()
    answer = response.status, response.read(), response.headers
    connection.close()
    return answer


@pytest.mark.parametrize("path", PATHS)
def test_no_token_is_early(server, path):
    model = server.asks(Turn(first_token_s=0.03, gap_s=0.01))
    asked_ns = time.monotonic_ns()
    status, body, _ = ask(server, path, model)
    (served,) = server.served(model)
    assert (status, b"word3" in body) == (200, True)
    assert asked_ns <= served.received_ns <= served.first_token_ns - 0.03 * SECOND
    assert served.last_token_ns - served.received_ns >= 0.06 * SECOND
    assert served.last_piece_ns <= time.monotonic_ns()


def test_each_request_has_its_turn_and_the_last_one_stays(server):
    model = server.asks(Turn(status=529, retry_after_s=1), Turn(tokens=1), Turn(tokens=2))
    status, _, headers = ask(server, PATHS[0], model)
    assert (status, headers["retry-after"]) == (529, "1")
    written = [ask(server, PATHS[1], model)[1].count(b"output_text.delta\n") for _ in range(3)]
    assert written == [1, 2, 2]
    assert len(server.served(model)) == 4


def test_what_asks_no_model_is_no_request(server):
    model = server.asks()
    assert ask(server, "/v1/models", model, method="GET")[0] == 404
    assert ask(server, "/v1/messages/count_tokens", model)[0] == 404
    assert ask(server, "/", model, method="HEAD")[0] == 200
    assert server.served(model) == []


def test_a_model_that_nobody_named_is_told(server):
    assert server.others() == set()
    assert ask(server, PATHS[0], "unheard of")[0] == 200
    assert server.others() == {"unheard of"}


def test_a_body_may_come_in_chunks(server):
    model = server.asks()
    connection = http.client.HTTPConnection("127.0.0.1", server.port)
    body = json.dumps({"model": model}).encode()
    pieces = iter([body[:5], body[5:]])
    for _ in range(2):  # on the same connection: all of the first one was read
        connection.request("POST", "/v1/responses", pieces, encode_chunked=True)
        assert connection.getresponse().read().count(b"output_text.delta\n") == 4
        pieces = iter([body])
    connection.close()
    assert len(server.served(model)) == 2


@pytest.mark.real
def test_anthropics_own_client_reads_an_answer_and_a_tools_call(server):
    anthropic = pytest.importorskip("anthropic")
    model = server.asks(Turn(cached=5), Turn(tool=CALL))
    answers = []
    with anthropic.Anthropic(base_url=server.url, api_key="none") as client:
        for _ in range(2):
            prompt = [{"role": "user", "content": "hello"}]
            with client.messages.stream(model=model, max_tokens=9, messages=prompt) as stream:
                answers.append(stream.get_final_message())
    text, tool = (answer.content[0] for answer in answers)
    assert text.text == "word0 word1 word2 word3 "
    assert answers[0].usage.cache_read_input_tokens == 5
    assert (tool.name, tool.input, answers[1].stop_reason) == (*CALL, "tool_use")


@pytest.mark.real
def test_openais_own_client_reads_an_answer_and_a_tools_call(server):
    openai = pytest.importorskip("openai")
    model = server.asks(Turn(cached=5), Turn(tool=CALL))
    answers = []
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none") as client:
        for _ in range(2):
            *_, last = client.responses.create(model=model, input="hello", stream=True)
            answers.append(last.response)
    assert answers[0].output_text == "word0 word1 word2 word3 "
    assert answers[0].usage.input_tokens_details.cached_tokens == 5
    (call,) = answers[1].output
    assert (call.name, json.loads(call.arguments)) == CALL
