"""The stream objects of real SDKs, over answers made up here: nobody sees that they are watched."""

from __future__ import annotations

import asyncio
import inspect
import json

import pytest

from llmphases import Ended, traced_llm_call, traced_stream

pytestmark = pytest.mark.real

openai = pytest.importorskip("openai")
anthropic = pytest.importorskip("anthropic")
httpx2 = pytest.importorskip("httpx2")

WORDS = ["Hel", "lo"]


def sse(events):
    return "".join(f"event: {e.get('type', 'x')}\ndata: {json.dumps(e)}\n\n" for e in events)


def openai_body():
    head = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "answered"}

    def chunk(delta, **more):
        return {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}], **more}

    chunks = [chunk({"role": "assistant", "content": ""}), *(chunk({"content": w}) for w in WORDS)]
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    chunks.append({**head, "choices": [], "usage": usage})
    return "".join(f"data: {json.dumps(c)}\n\n" for c in chunks) + "data: [DONE]\n\n"


def anthropic_body():
    message = {
        "id": "1", "type": "message", "role": "assistant", "model": "answered", "content": [],
        "stop_reason": None, "stop_sequence": None,
        "usage": {"input_tokens": 3, "output_tokens": 1},
    }  # fmt: skip
    delta = {"stop_reason": "end_turn", "stop_sequence": None}
    return sse(
        [
            {"type": "message_start", "message": message},
            {"type": "content_block_start", "index": 0,
             "content_block": {"type": "text", "text": ""}},
            *({"type": "content_block_delta", "index": 0,
               "delta": {"type": "text_delta", "text": word}} for word in WORDS),
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": delta, "usage": {"output_tokens": 2}},
            {"type": "message_stop"},
        ]
    )  # fmt: skip


def transport(body):
    headers = {"content-type": "text/event-stream"}
    return httpx2.MockTransport(
        lambda request: httpx2.Response(200, headers=headers, content=body().encode())
    )


def openai_client():
    http = httpx2.Client(transport=transport(openai_body))
    return openai.OpenAI(api_key="k", base_url="http://lab/v1", http_client=http)


def async_openai_client():
    http = httpx2.AsyncClient(transport=transport(openai_body))
    return openai.AsyncOpenAI(api_key="k", base_url="http://lab/v1", http_client=http)


def anthropic_client():
    http = httpx2.Client(transport=transport(anthropic_body))
    return anthropic.Anthropic(api_key="k", base_url="http://lab", http_client=http)


def async_anthropic_client():
    http = httpx2.AsyncClient(transport=transport(anthropic_body))
    return anthropic.AsyncAnthropic(api_key="k", base_url="http://lab", http_client=http)


MESSAGES = [{"role": "user", "content": "hi"}]
CHAT = {"model": "asked", "messages": MESSAGES, "stream": True}
CLAUDE = {"model": "asked", "messages": MESSAGES, "max_tokens": 9}


@traced_llm_call
def ask():
    return openai_client().chat.completions.create(**CHAT)


@traced_llm_call
async def ask_async():
    return await async_openai_client().chat.completions.create(**CHAT)


@traced_llm_call
def claude():
    return anthropic_client().messages.stream(**CLAUDE)


@traced_llm_call
def claude_async():
    return async_anthropic_client().messages.stream(**CLAUDE)


def text_of(chunks):
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


def test_an_openai_stream_is_one(calls):
    stream = ask()
    assert isinstance(stream, openai.Stream)
    assert type(stream).__name__ == "Stream"
    assert stream.response.status_code == 200
    assert text_of(stream) == "Hello"
    assert list(stream) == []
    (call,) = calls
    assert (call.chunks, call.ended, call.requests) == (4, Ended.EXHAUSTED, 1)
    assert (call.response_model, call.usage.output_tokens) == ("answered", 2)


def test_an_openai_stream_is_read_in_pieces(calls):
    with ask() as stream:
        assert isinstance(stream, openai.Stream)
        first = next(stream)
        for chunk in stream:
            assert chunk.choices[0].delta.content == "Hel"
            break
        assert text_of(stream) == "lo"
    assert text_of([first]) == ""
    assert [(call.chunks, call.ended) for call in calls] == [(4, Ended.EXHAUSTED)]


def test_an_openai_stream_is_closed_early(calls):
    with ask() as stream:
        next(stream)
    assert stream.response.is_closed
    stream = ask()
    next(stream)
    stream.close()
    assert stream.response.is_closed
    assert [(call.chunks, call.ended) for call in calls] == [(1, Ended.CLOSED)] * 2


async def test_an_async_openai_stream_is_one(calls):
    stream = await ask_async()
    assert isinstance(stream, openai.AsyncStream)
    assert inspect.iscoroutinefunction(stream.close)
    assert hasattr(stream, "aclose") == hasattr(openai.AsyncStream, "aclose")
    first = await asyncio.create_task(stream.__anext__())
    assert text_of([first, *[chunk async for chunk in stream]]) == "Hello"
    async with await ask_async() as stream:
        async for _ in stream:
            break
    assert stream.response.is_closed
    stream = await ask_async()
    await anext(stream)
    await stream.close()
    for _ in range(5):
        await asyncio.sleep(0)
    found = [(call.chunks, call.ended) for call in calls]
    assert found == [(4, Ended.EXHAUSTED), (1, Ended.CLOSED), (1, Ended.CLOSED)]


def test_openais_stream_helper_gives_events_and_the_final_answer(calls):
    @traced_llm_call
    def helper():
        return openai_client().chat.completions.stream(model="asked", messages=MESSAGES)

    with helper() as stream:
        kinds = [event.type for event in stream]
        assert "content.delta" in kinds
        assert stream.get_final_completion().choices[0].message.content == "Hello"
    (call,) = calls
    assert call.first_token_ns is not None
    assert call.ended is Ended.EXHAUSTED


def test_an_anthropic_stream_gives_its_text(calls):
    with claude() as stream:
        assert isinstance(stream, anthropic.MessageStream)
        assert "".join(stream.text_stream) == "Hello"
        assert stream.get_final_text() == "Hello"
        assert stream.get_final_message().usage.output_tokens == 2
    (call,) = calls
    assert (call.chunks, call.ended) == (2, Ended.EXHAUSTED)


def test_an_anthropic_stream_gives_its_events(calls):
    with claude() as stream:
        kinds = [event.type for event in stream]
    assert kinds[0] == "message_start"
    assert kinds.count("text") == 2
    (call,) = calls
    assert call.usage.output_tokens == 2
    assert call.first_token_ns is not None


def test_an_anthropic_stream_that_only_a_helper_reads_is_unobserved(calls):
    with claude() as stream:
        assert stream.get_final_text() == "Hello"
    assert [call.ended for call in calls] == [Ended.UNOBSERVED]


def test_an_anthropic_stream_is_left_and_read_on(calls):
    with claude() as stream:
        for text in stream.text_stream:
            assert text == "Hel"
            break
        assert list(stream.text_stream) == ["lo"]
    with claude() as stream:
        next(stream)
    assert [call.ended for call in calls] == [Ended.EXHAUSTED, Ended.CLOSED]


async def test_an_async_anthropic_stream_gives_its_text(calls):
    async with claude_async() as stream:
        assert isinstance(stream, anthropic.AsyncMessageStream)
        assert [text async for text in stream.text_stream] == WORDS
        assert await stream.get_final_text() == "Hello"
    assert [(call.chunks, call.ended) for call in calls] == [(2, Ended.EXHAUSTED)]


def test_an_sdks_stream_is_watched_by_hand(calls):
    @traced_llm_call
    def inside():
        with traced_stream(openai_client().chat.completions.create(**CHAT)) as stream:
            return text_of(stream)

    assert inside() == "Hello"
    (call,) = calls
    assert (call.requests, call.chunks, call.ended) == (1, 4, None)
