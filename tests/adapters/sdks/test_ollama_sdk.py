"""The real Ollama SDK, hooked into: its streams ask when they are first read."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys

import ollama
import pytest

from adapters.sdks.wired_sdks import STREAMED, WHOLE, Reading, hooked, split
from lab.wire_formats import PROMPT_TOKENS
from lab.wire_server import Timing
from llmphases import llm_call
from llmphases.phases import Phase
from llmphases.testing import recorded_calls

MESSAGES = [{"role": "user", "content": "hi"}]
TEXT = "word0 word1 word2 "


@pytest.fixture(autouse=True)
def _hooked():
    with hooked("ollama"):
        yield


@pytest.fixture
def calls():
    with recorded_calls() as found:
        yield found


@pytest.fixture
def client(wire_server):
    made = ollama.Client(host=wire_server.url)
    yield made
    made._client.close()


def test_a_stream(client, calls, wire_server):
    model = wire_server.asks(Timing(first_token_s=0.04, gap_s=0.02))
    reading = Reading()
    stream = client.chat(model=model, messages=MESSAGES, stream=True)
    assert inspect.isgenerator(stream)
    assert wire_server.served(model) == []
    chunks = reading.all_of(stream, lambda chunk: chunk.message.content)
    assert "".join(chunk.message.content for chunk in chunks) == TEXT
    (call,) = calls
    assert (call.name, call.provider) == (f"chat {model}", "ollama")
    assert (call.usage.input_tokens, call.usage.output_tokens) == (PROMPT_TOKENS, 3)
    assert call.reported["eval_duration"] == 40_000_000
    reading.assert_split(call, *wire_server.served(model))


def test_a_whole_answer_is_split_by_what_the_server_says(client, calls, wire_server):
    model = wire_server.asks(Timing(first_token_s=0.04, gap_s=0.02))
    answer = client.chat(model=model, messages=MESSAGES)
    assert type(answer) is ollama.ChatResponse
    (call,) = calls
    assert (split(call), call.reported_trusted, call.first_token_ns) == (STREAMED, True, None)
    assert call.exclusive_ns[Phase.GENERATION] == 40_000_000


def test_generate(client, calls, wire_server):
    model = wire_server.asks()
    list(client.generate(model=model, prompt="hi", stream=True))
    assert client.generate(model, "hi").response == TEXT
    assert [call.name for call in calls] == [f"text_completion {model}"] * 2


def test_embeddings_have_no_split(client, calls, wire_server):
    times = {"total_duration": 2_000, "load_duration": 1_000, "prompt_eval_count": 5}
    wire_server.others["/api/embed"] = {"model": "e", "embeddings": [[0.5]], **times}
    assert client.embed(model="e", input="hi").embeddings == [[0.5]]
    (call,) = calls
    assert (call.name, split(call)) == ("embeddings e", WHOLE)
    assert (call.usage.input_tokens, call.reported["load_duration"]) == (5, 1_000)


def test_what_asks_no_model_is_nothing(client, calls, wire_server):
    wire_server.others["/api/show"] = {"model_info": {}}
    wire_server.others["/api/pull"] = {"status": "success"}
    client.show("any")
    assert [progress.status for progress in client.pull("any", stream=True)] == ["success"]
    assert calls == []


def test_inside_a_call(client, calls, wire_server):
    model = wire_server.asks()
    with llm_call("mine"):
        for chunk in client.chat(model=model, messages=MESSAGES, stream=True):
            if chunk.message.content:
                break
        client.chat(model=model, messages=MESSAGES)
    (call,) = calls
    assert (call.name, call.requests, call.request_model) == ("mine", 2, model)


def test_what_it_raises(client, calls, wire_server):
    model = wire_server.asks(Timing(status=500))
    with pytest.raises(ollama.ResponseError) as raised:
        client.chat(model=model, messages=MESSAGES)
    assert raised.value.status_code == 500
    stream = client.chat(model=model, messages=MESSAGES, stream=True)
    with pytest.raises(ollama.ResponseError):
        next(stream)
    assert [call.error_type for call in calls] == ["ResponseError", "ResponseError"]


def test_what_the_wait_is_made_of(client, calls, wire_server):
    model = wire_server.asks(Timing(first_token_s=0.02))
    with hooked("ollama", http=True):
        list(client.chat(model=model, messages=MESSAGES, stream=True))
    assert {"connect", "send", "wait_headers"} <= {detail.name for detail in calls[0].details}
    assert (calls[0].requests, calls[0].retries) == (1, 0)


def test_all_of_it_async(wire_server, calls):
    async def main():
        model = wire_server.asks()
        client = ollama.AsyncClient(host=wire_server.url)
        stream = await client.chat(model=model, messages=MESSAGES, stream=True)
        assert inspect.isasyncgen(stream)
        assert wire_server.served(model) == []
        assert "".join([chunk.message.content async for chunk in stream]) == TEXT
        answer = await client.chat(model=model, messages=MESSAGES)
        assert answer.message.content == TEXT
        await client._client.aclose()

    asyncio.run(main())
    assert [(call.requests, call.usage.output_tokens) for call in calls] == [(1, 3), (1, 3)]
    assert split(calls[0]) == STREAMED


PROGRAM = """if True:
    import sys
    import llmphases
    from llmphases.testing import recorded_calls
    if sys.argv[2] == "first":
        llmphases.instrument("ollama")
    from ollama import chat
    if sys.argv[2] == "last":
        llmphases.instrument("ollama")
    with recorded_calls() as calls:
        asked = dict(model=sys.argv[1], messages=[{"role": "user", "content": "hi"}])
        chat(**asked)
        list(chat(**asked, stream=True))
        llmphases.uninstrument("ollama")
        chat(**asked)
    print([(call.requests, call.usage.output_tokens) for call in calls])
"""


@pytest.mark.parametrize("when", ["first", "last"])
def test_functions_of_the_module_in_any_order_of_import(wire_server, when, monkeypatch):
    monkeypatch.setenv("OLLAMA_HOST", wire_server.url)
    command = [sys.executable, "-c", PROGRAM, wire_server.asks(), when]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[(1, 3), (1, 3)]"
