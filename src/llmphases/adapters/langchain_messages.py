"""LangChain: message chunks, whichever provider is behind them."""

from __future__ import annotations

from typing import Any

from llmphases.adapters.content_parts import kind_of_parts
from llmphases.adapters.contract import (
    ANSWER,
    NOT_A_TOKEN,
    ODD,
    REASONING,
    ChunkShape,
    Facts,
    has_text,
    items,
    named,
    read,
    text_or_none,
)
from llmphases.adapters.usage import usage_of


def _kind(message: Any) -> int:
    try:
        content = message.content
        if content and type(content) is str:
            return ANSWER
        kind = kind_of_parts(content)
        if kind == ANSWER or _has_call(message):
            return ANSWER
        if kind == REASONING or has_text(message.additional_kwargs.get("reasoning_content")):
            return REASONING
    except ODD:
        pass  # not as documented
    return NOT_A_TOKEN


def _has_call(message: Any) -> bool:
    calls = items(message.tool_call_chunks)
    return any(has_text(read(c, "name")) or has_text(read(c, "args")) for c in calls)


def _facts(message: Any) -> Facts | None:
    usage, about = usage_of(message.usage_metadata), message.response_metadata
    model = text_or_none(read(about, "model_name")) or text_or_none(read(about, "model"))
    if usage is None and model is None:
        return None
    # LangChain adds chunks up to a message, and their usage too: each says what came on top.
    return Facts(usage=usage, response_model=model, usage_is_increment=True)


LANGCHAIN = ChunkShape(
    name="langchain", matches=named("langchain_core.AIMessageChunk"), kind=_kind, facts=_facts
)
