"""Bedrock's `converse_stream`: dicts with one key that names the event."""

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
    read,
)
from llmphases.adapters.reported import reported_of
from llmphases.adapters.usage import usage_of

_EVENTS = frozenset(
    {
        "messageStart",
        "contentBlockStart",
        "contentBlockDelta",
        "contentBlockStop",
        "messageStop",
        "metadata",
    }
)


def _kind(event: dict[str, Any]) -> int:
    try:
        delta = read(event.get("contentBlockDelta"), "delta")
        if has_text(read(delta, "text")) or has_text(read(read(delta, "toolUse"), "input")):
            return ANSWER
        thought = read(delta, "reasoningContent")
        if has_text(read(thought, "text")) or read(thought, "redactedContent"):
            return REASONING
    except ODD:
        pass  # another event, or not as documented
    return NOT_A_TOKEN


def _facts(event: dict[str, Any]) -> Facts | None:
    usage, reported = usage_of(event.get("metadata")), reported_of(event)
    return Facts(usage=usage, reported=reported) if usage or reported else None


def _is_event(chunk: Any) -> bool:
    return len(chunk) == 1 and not _EVENTS.isdisjoint(chunk)


BEDROCK = ChunkShape(name="bedrock", matches=_is_event, kind=_kind, facts=_facts)
