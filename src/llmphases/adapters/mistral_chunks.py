"""Mistral's SDK: OpenAI's chunk, one level down."""

from __future__ import annotations

from typing import Any

from llmphases.adapters import choices
from llmphases.adapters.contract import (
    ANSWER,
    NOT_A_TOKEN,
    ODD,
    ChunkShape,
    Facts,
    named,
    read,
    said_by,
)


def _kind(event: Any) -> int:
    try:
        chunk = event.data
        content = chunk.choices[0].delta.content
    except ODD:
        return NOT_A_TOKEN
    return ANSWER if content and type(content) is str else choices.kind(chunk)


def _facts(event: Any) -> Facts | None:
    return choices.facts(read(event, "data"))


MISTRAL = ChunkShape(
    name="mistral",
    matches=named("mistralai.CompletionEvent"),
    kind=_kind,
    facts=said_by("mistral_ai", _facts),
)
