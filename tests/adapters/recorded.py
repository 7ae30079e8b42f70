"""Recorded streams, as a server sends them, and what our shapes make of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from llmphases.adapters.chunks import shape_of
from llmphases.adapters.contract import Facts

DATA = Path(__file__).parent / "data"

OPENAI_CHAT = "openai_chat_3.57.0.sse"
OPENAI_RESPONSES = "openai_responses_3.57.0.sse"
ANTHROPIC = "anthropic_messages_claude_code_2.1.197.sse"
GEMINI = "gemini_google_genai_3.6.1.sse"
GROQ = "groq_chat_1.7.0.sse"
MISTRAL = "mistral_chat_3.7.0.sse"
OLLAMA = "ollama_chat_0.6.3.jsonl"


def answering(module: Any, name: str) -> Any:
    """A transport of httpx or httpx2 that answers every request with a recorded stream."""
    body = (DATA / name).read_bytes()
    headers = {"content-type": "text/event-stream"}
    return module.MockTransport(lambda _: module.Response(200, headers=headers, content=body))


def text_of(name: str) -> str:
    """A recorded stream as it is."""
    return (DATA / name).read_text()


def dicts_of(name: str) -> list[dict[str, Any]]:
    """The JSON of each of its events."""
    lines = (line.removeprefix("data: ") for line in text_of(name).splitlines())
    return [json.loads(line) for line in lines if line.startswith("{")]


def kinds(chunks: Iterable[Any]) -> list[int]:
    """What each chunk is."""
    return [shape_of(chunk).kind(chunk) for chunk in chunks]


def facts(chunks: Iterable[Any]) -> Facts:
    """What a stream said besides its tokens, its last chunk asked in any case."""
    heard = Facts()
    for chunk in chunks:
        heard = heard.then(shape_of(chunk).facts(chunk))
    return heard
