"""Dicts of no API we know, as programs make them up for their own streams."""

from __future__ import annotations

from typing import Any

from llmphases.adapters.content_parts import kind_of_parts
from llmphases.adapters.contract import (
    ANSWER,
    NOT_A_TOKEN,
    REASONING,
    ChunkShape,
    Facts,
    has_text,
    read,
    text_or_none,
)
from llmphases.adapters.reported import reported_of
from llmphases.adapters.usage import usage_of

_ANSWERS = ("content", "text", "token", "delta", "answer", "completion", "generated_text")
_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
_TEXTUAL = ("text", "token", "content", "delta", "message", "chunk", "answer", "generation")
"""What the `type` of a dict with text in it has in its name, unless it is a status or an error."""


def _kind(chunk: dict[str, Any]) -> int:
    kind = chunk.get("type", chunk.get("event_type"))
    if isinstance(kind, str) and not any(word in kind.lower() for word in _TEXTUAL):
        return REASONING if _is_thought(kind, chunk) else NOT_A_TOKEN
    if any(_has_content(chunk.get(name)) for name in _ANSWERS):
        return ANSWER
    return REASONING if any(has_text(chunk.get(name)) for name in _THOUGHTS) else NOT_A_TOKEN


def _is_thought(kind: str, chunk: dict[str, Any]) -> bool:
    if not any(word in kind.lower() for word in ("reason", "think", "thought")):
        return False
    return any(has_text(chunk.get(name)) for name in (*_ANSWERS, *_THOUGHTS))


def _has_content(value: Any) -> bool:
    """Text, a list of parts, or an object with text in it (TGI's token, Cohere's message)."""
    if isinstance(value, dict):
        inner = read(read(value, "message"), "content")
        return has_text(value.get("text")) or has_text(read(inner, "text"))
    return has_text(value) or kind_of_parts(value) == ANSWER


def _facts(chunk: dict[str, Any]) -> Facts | None:
    usage, reported = usage_of(chunk), reported_of(chunk)
    model = text_or_none(chunk.get("model"))
    if usage is None and reported is None and model is None:
        return None
    return Facts(usage=usage, response_model=model, reported=reported)


PLAIN_DICT = ChunkShape(name="plain_dict", matches=lambda _: True, kind=_kind, facts=_facts)
