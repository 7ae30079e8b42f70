"""Chunks of OpenAI's chat API: as bytes on the wire, as the SDK's objects, and in its streams."""

from __future__ import annotations

import functools
import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

from openai import AsyncStream, Stream
from openai.types.chat import ChatCompletionChunk


def as_json(delta: dict[str, str]) -> dict[str, Any]:
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-4o-mini",
        "choices": [{"index": 0, "delta": delta, "finish_reason": None}],
    }


def as_object(delta: dict[str, str]) -> ChatCompletionChunk:
    return ChatCompletionChunk.model_validate(as_json(delta))


@functools.cache
def objects(items: int) -> list[ChatCompletionChunk]:
    """One role chunk, then text; the objects are ready and the same each time."""
    words = [as_object({"content": "word "}) for _ in range(16)]
    return [as_object({"role": "assistant", "content": ""}), *(words * items)[: items - 1]]


@functools.cache
def on_the_wire(items: int) -> bytes:
    """The same as server-sent events."""
    first, rest = as_json({"role": "assistant", "content": ""}), as_json({"content": "word "})
    events = [first, *[rest] * (items - 1)]
    body = b"".join(b"data: " + json.dumps(event).encode() + b"\n\n" for event in events)
    return body + b"data: [DONE]\n\n"


def warm_stream(chunks: Iterator[ChatCompletionChunk]) -> Stream[ChatCompletionChunk]:
    """The SDK's stream, fed with objects instead of bytes: nothing but its own loop."""
    stream: Any = Stream.__new__(Stream)
    stream._iterator = chunks  # noqa: SLF001  # what __init__ makes of a response
    return stream


def warm_stream_async(
    chunks: AsyncIterator[ChatCompletionChunk],
) -> AsyncStream[ChatCompletionChunk]:
    """The same, async."""
    stream: Any = AsyncStream.__new__(AsyncStream)
    stream._iterator = chunks  # noqa: SLF001  # as above
    return stream
