"""Ollama: chat and generate responses, the last of them with the server's times."""

from __future__ import annotations

from typing import Any

from llmphases.adapters.contract import (
    ANSWER,
    NOT_A_TOKEN,
    ODD,
    REASONING,
    ChunkShape,
    Facts,
    fields_of,
    has_text,
    items,
    named,
    read,
    said_by,
    text_or_none,
)
from llmphases.adapters.reported import reported_of
from llmphases.adapters.usage import usage_of


def _kind_of_chat(chunk: Any) -> int:
    try:
        message = chunk.message
        content = message.content
    except ODD:
        return NOT_A_TOKEN
    return ANSWER if content and type(content) is str else _of_message(message)


def _kind_of_generate(chunk: Any) -> int:
    try:
        text = chunk.response
    except ODD:
        return NOT_A_TOKEN
    if text and type(text) is str:
        return ANSWER
    return REASONING if has_text(read(chunk, "thinking")) else NOT_A_TOKEN


def _of_message(message: Any) -> int:
    if has_text(read(message, "content")) or items(read(message, "tool_calls")):
        return ANSWER
    return REASONING if has_text(read(message, "thinking")) else NOT_A_TOKEN


def _kind_of_dict(chunk: dict[str, Any]) -> int:
    try:
        message = chunk.get("message")
        return _kind_of_generate_dict(chunk) if message is None else _of_message(message)
    except ODD:
        return NOT_A_TOKEN


def _kind_of_generate_dict(chunk: dict[str, Any]) -> int:
    if has_text(chunk.get("response")):
        return ANSWER
    return REASONING if has_text(chunk.get("thinking")) else NOT_A_TOKEN


def _facts(chunk: Any) -> Facts | None:
    said = fields_of(chunk)
    model = text_or_none(said.get("model"))
    if not said.get("done"):
        return None if model is None else Facts(response_model=model)
    return Facts(usage=usage_of(said), response_model=model, reported=reported_of(said))


_FACTS = said_by("ollama", _facts)

OLLAMA_CHAT = ChunkShape(
    name="ollama_chat", matches=named("ollama.ChatResponse"), kind=_kind_of_chat, facts=_FACTS
)
OLLAMA_GENERATE = ChunkShape(
    name="ollama_generate",
    matches=named("ollama.GenerateResponse"),
    kind=_kind_of_generate,
    facts=_FACTS,
)
OLLAMA_DICT = ChunkShape(
    name="ollama_dict",
    matches=lambda chunk: "done" in chunk and ("message" in chunk or "response" in chunk),
    kind=_kind_of_dict,
    facts=_facts,
)
