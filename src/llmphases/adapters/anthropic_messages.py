"""Anthropic messages: raw events, and those of `messages.stream()`."""

from __future__ import annotations

from typing import Any

from llmphases.adapters.contract import (
    ANSWER,
    NOT_A_TOKEN,
    ODD,
    REASONING,
    ChunkShape,
    Facts,
    has_text,
    named,
    read,
    text_or_none,
)
from llmphases.adapters.usage import usage_of

_EVENTS = frozenset(
    {
        "message_start",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
        "ping",
        "error",
    }
)

_PROVIDERS = {
    "msg_bdrk_": "aws.bedrock",
    "msg_vrtx_": "gcp.vertex_ai",
    "msg_01": "anthropic",
}


def _kind(event: Any) -> int:
    # `messages.stream()` follows each delta with an event derived from it (`text`, `thinking`,
    # `input_json`): those are no tokens, so that none counts twice.
    try:
        if event.type == "content_block_delta":
            delta = event.delta
            if delta.type == "text_delta":
                return ANSWER if delta.text else NOT_A_TOKEN
            return _of_delta(delta)
        if event.type == "content_block_start":
            return _of_block(event.content_block)
    except ODD:
        pass  # not as documented
    return NOT_A_TOKEN


def _kind_of_dict(event: Any) -> int:
    try:
        kind = event.get("type")
        if kind == "content_block_delta":
            delta = event.get("delta")
            if delta.get("type") == "text_delta":
                return ANSWER if delta.get("text") else NOT_A_TOKEN
            return _of_delta(delta)
        if kind == "content_block_start":
            return _of_block(event.get("content_block"))
    except ODD:
        pass
    return NOT_A_TOKEN


def _of_delta(delta: Any) -> int:
    kind = read(delta, "type")
    if kind == "thinking_delta":
        return REASONING if has_text(read(delta, "thinking")) else NOT_A_TOKEN
    if kind == "input_json_delta":
        return ANSWER if has_text(read(delta, "partial_json")) else NOT_A_TOKEN
    return NOT_A_TOKEN  # signatures and citations


def _of_block(block: Any) -> int:
    kind = read(block, "type")
    if kind == "redacted_thinking":  # it has no deltas: all of it is here
        return REASONING
    if kind == "thinking":
        return REASONING if has_text(read(block, "thinking")) else NOT_A_TOKEN
    if isinstance(kind, str) and kind.endswith("tool_use"):  # the model has chosen its tool
        return ANSWER if has_text(read(block, "name")) else NOT_A_TOKEN
    return ANSWER if kind == "text" and has_text(read(block, "text")) else NOT_A_TOKEN


def _facts(event: Any) -> Facts | None:
    kind = read(event, "type")
    if kind in ("message_start", "message_stop"):
        message = read(event, "message")  # only the stop of `messages.stream()` has one
        if message is None:
            return None
        return Facts(
            usage=usage_of(read(message, "usage")),
            response_model=text_or_none(read(message, "model")),
            provider=_provider_of(read(message, "id")),
        )
    if kind == "message_delta":  # cumulative: it replaces what message_start said
        usage = usage_of(read(event, "usage"))
        return None if usage is None else Facts(usage=usage)
    return None


def _provider_of(message_id: Any) -> str | None:
    """Who answered: the same events come from several clouds, with ids of their own."""
    if not isinstance(message_id, str):
        return None
    return next((who for start, who in _PROVIDERS.items() if message_id.startswith(start)), None)


def _is_event(chunk: Any) -> bool:
    kind = chunk.get("type")
    return isinstance(kind, str) and kind in _EVENTS


ANTHROPIC = ChunkShape(
    name="anthropic", matches=named("anthropic.*Event"), kind=_kind, facts=_facts
)
ANTHROPIC_DICT = ChunkShape(
    name="anthropic_dict", matches=_is_event, kind=_kind_of_dict, facts=_facts
)
