"""The streaming examples that Anthropic's SDK documents: unchanged, and the same with hooks.

Also its own OpenTelemetry span, and a real model behind its language.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys

import anthropic
import pytest

from adapters.sdks.wired_sdks import STREAMED, WHOLE, hooked, split
from lab.llama import CLOSE, EXACT
from lab.wire_server import Timing
from llmphases.testing import recorded_calls

ASKS = {"max_tokens": 1024, "messages": [{"role": "user", "content": "Hello, Claude"}]}


def events(client, model):
    stream = client.messages.create(model=model, stream=True, **ASKS)
    for event in stream:
        print(event.type)


def event_by_event(client, model):
    with client.messages.stream(model=model, **ASKS) as stream:
        for event in stream:
            if event.type == "text":
                print(event.text, end="", flush=True)
            elif event.type == "content_block_stop":
                print("\n\ncontent block finished accumulating:", event.content_block)
    message = stream.get_final_message()
    print("accumulated message: ", message.to_json())


def text_only(client, model):
    with client.messages.stream(model=model, **ASKS) as stream:
        for text in stream.text_stream:
            print(text, end="", flush=True)
        print()
    print(stream.get_final_text(), stream.current_message_snapshot.usage)


def manual(client, model):
    with client.messages.stream(model=model, **ASKS) as stream:
        stream.until_done()
    print(stream.get_final_message().to_json(), stream.response.status_code)


def without_with(client, model):
    stream = client.messages.create(model=model, stream=True, **ASKS)
    print(next(stream).message.id, type(stream).__name__, isinstance(stream, anthropic.Stream))
    stream.close()


def raw(client, model):
    response = client.messages.with_raw_response.create(model=model, **ASKS)
    print(response.http_response.status_code, response.parse().to_json())
    with client.messages.with_streaming_response.create(model=model, **ASKS) as streamed:
        print([json.loads(line)["usage"]["output_tokens"] for line in streamed.iter_lines()])


async def async_events(client, model):
    stream = await client.messages.create(model=model, stream=True, **ASKS)
    async for event in stream:
        print(event.type)


async def async_text_only(client, model):
    async with client.messages.stream(model=model, **ASKS) as stream:
        async for text in stream.text_stream:
            print(text, end="", flush=True)
        print()
    message = await stream.get_final_message()
    print(message.to_json(), await stream.get_final_text())


SYNC = [events, event_by_event, text_only, manual, without_with, raw]
ASYNC = [async_events, async_text_only]


def run(example, wire_server, model):
    about = {"base_url": wire_server.url, "api_key": "none", "max_retries": 0}
    if example in SYNC:
        with anthropic.Anthropic(**about) as client:
            example(client, model)
        return

    async def main():
        async with anthropic.AsyncAnthropic(**about) as client:
            await example(client, model)

    asyncio.run(main())


@pytest.mark.parametrize("example", SYNC + ASYNC)
def test_a_documented_example_prints_the_same(example, wire_server, capsys):
    model = wire_server.asks(Timing(tokens=5))
    run(example, wire_server, model)
    plain = capsys.readouterr().out
    with hooked("anthropic"), recorded_calls() as calls:
        run(example, wire_server, model)
    assert capsys.readouterr().out == plain
    assert plain
    assert [call.requests for call in calls] == [1] * (2 if example is raw else 1)
    assert {call.error_type for call in calls} == {None}
    if example not in (without_with, raw):  # which do not take all of an answer out
        assert {call.usage.output_tokens for call in calls} == {5}


OWN_SPAN = """if True:
    import json, sys
    import anthropic
    from opentelemetry import trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
    import llmphases

    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    trace.set_tracer_provider(provider)
    llmphases.instrument("anthropic")
    client = anthropic.Anthropic(base_url=sys.argv[1], api_key="none", max_retries=0)
    asks = dict(model=sys.argv[2], max_tokens=9, messages=[{"role": "user", "content": "hi"}])
    with client.messages.stream(**asks) as stream:
        stream.until_done()
    spans = kept.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans}
    print(json.dumps({
        span.name: span.parent and names[span.parent.span_id] for span in spans
    }))
"""


def test_its_own_span_lies_in_the_wait_for_the_first_token(wire_server):
    if int(anthropic.__version__.partition(".")[0]) < 2:
        pytest.skip("this version has no span of its own")
    model = wire_server.asks(Timing(gap_s=0.01))
    command = [sys.executable, "-c", OWN_SPAN, wire_server.url, model]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    spans = json.loads(done.stdout)
    spans.pop("transmission", None)  # on a busy machine
    assert spans == {
        f"chat {model}": None,
        "time_to_first_token": f"chat {model}",
        "generation": f"chat {model}",
        "anthropic.messages.create": "time_to_first_token",
    }


@pytest.mark.real
def test_a_real_model_that_speaks_the_language(llama_server):
    asks = {"model": "mid", "max_tokens": 16, "extra_body": EXACT}
    messages = [{"role": "user", "content": "hello world this is a run"}]
    client = anthropic.Anthropic(
        base_url=llama_server.url, api_key="none", max_retries=0, default_headers=CLOSE
    )
    with client, hooked("anthropic"), recorded_calls() as calls:
        client.messages.create(messages=messages, **asks)
        with client.messages.stream(messages=messages, **asks) as stream:
            stream.until_done()
    assert [split(call) for call in calls] == [WHOLE, STREAMED]
    assert [call.usage.output_tokens for call in calls] == [16, 16]
    assert calls[0].usage.input_tokens == calls[1].usage.input_tokens
    assert [call.provider for call in calls] == [None, None]
