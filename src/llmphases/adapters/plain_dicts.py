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
"""What is in the `type` of a dict that brings text, and not in that of a status or an error."""
_THOUGHTFUL = ("reason", "think", "thought")


def _kind(chunk: dict[str, Any]) -> int:
    kind = chunk.get("type") or chunk.get("event_type")
    if isinstance(kind, str):
        kind = kind.lower()
        if any(word in kind for word in _THOUGHTFUL):
            return REASONING if _any_has_text(chunk, (*_ANSWERS, *_THOUGHTS)) else NOT_A_TOKEN
        if not any(word in kind for word in _TEXTUAL):
            return NOT_A_TOKEN  # a status, an error, a result
    if _any_has_text(chunk, _ANSWERS) or any(_has_content(chunk.get(n)) for n in _ANSWERS):
        return ANSWER
    return REASONING if _any_has_text(chunk, _THOUGHTS) else NOT_A_TOKEN


def _any_has_text(chunk: dict[str, Any], names: tuple[str, ...]) -> bool:
    for name in names:  # a plain loop: any() over a generator takes twice the time
        value = chunk.get(name)
        if value and isinstance(value, str):
            return True
    return False


def _has_content(value: Any) -> bool:
    """Text, a list of parts, or an object with text in it (TGI's token, Cohere's message)."""
    if isinstance(value, dict):
        inner = read(read(value, "message"), "content")
        return has_text(value.get("text")) or has_text(read(inner, "text"))
    return kind_of_parts(value) == ANSWER


def _facts(chunk: dict[str, Any]) -> Facts | None:
    usage, reported = usage_of(chunk), reported_of(chunk)
    model = text_or_none(chunk.get("model"))
    if usage is None and reported is None and model is None:
        return None
    return Facts(usage=usage, response_model=model, reported=reported)


PLAIN_DICT = ChunkShape(name="plain_dict", matches=lambda _: True, kind=_kind, facts=_facts)
