"""What models of `llm` give out piece by piece; some give plain text instead, as all did once."""

from __future__ import annotations

from typing import Any

from llmphases.adapters.contract import ANSWER, NOT_A_TOKEN, ODD, REASONING, ChunkShape, named

_KINDS = {
    "text": ANSWER,
    "tool_call_name": ANSWER,
    "tool_call_args": ANSWER,
    "reasoning": REASONING,
}


def _kind(event: Any) -> int:
    try:
        return _KINDS.get(event.type, NOT_A_TOKEN) if event.chunk else NOT_A_TOKEN
    except ODD:
        return NOT_A_TOKEN  # not as documented


def _facts(event: Any) -> None:
    return None


LLM = ChunkShape(name="llm", matches=named("llm.StreamEvent"), kind=_kind, facts=_facts)
