"""A traced stream of the real OpenAI client, per chunk, its decoding included.

The bytes are canned and come from memory. Their decoding costs some fifty times what we add, and
leaves cold caches behind for us.
"""

from __future__ import annotations

from typing import Any

import httpx2
import rows
from chunks import on_the_wire
from openai import OpenAI
from reading import added, floor

from llmphases import traced_stream

ITEMS = 300
QUESTION: Any = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Boxes?"}]}


def answer(request: httpx2.Request) -> httpx2.Response:
    body = on_the_wire(int(request.headers["x-items"]))
    return httpx2.Response(200, headers={"content-type": "text/event-stream"}, content=body)


CLIENT = OpenAI(
    api_key="none",
    base_url="http://model",
    http_client=httpx2.Client(transport=httpx2.MockTransport(answer)),
)


def stream(items: int) -> Any:
    headers = {"x-items": str(items)}
    return CLIENT.chat.completions.create(stream=True, extra_headers=headers, **QUESTION)


def traced(items: int) -> Any:
    return traced_stream(stream(items))


def has_text(chunk: Any) -> object:
    return chunk.choices[0].delta.content


rows.run(
    [
        rows.Row(
            name="client stream: two stamps, current",
            measure=added(lambda: (stream, floor(lambda n: iter(stream(n)), has_text)), ITEMS),
        ),
        rows.Row(
            name="client stream: traced",
            measure=added(lambda: (stream, traced), ITEMS),
            target=2.5e-6,
            floor="client stream: two stamps, current",
        ),
    ]
)
