"""Message content that is a list of parts, as Mistral, LangChain and others send it."""

from __future__ import annotations

from typing import Any

from llmphases.adapters.contract import (
    ANSWER,
    NOT_A_TOKEN,
    REASONING,
    fields_of,
    has_text,
    items,
    read,
)

_ANSWERS = ("text", "refusal", "partial_json", "input", "args", "arguments", "name")
_THOUGHTS = ("thinking", "reasoning", "reasoning_content", "summary")
_RESULTS = ("tool_result", "server_tool_result", "web_search_tool_result", "function_call_output")
"""Parts that a tool wrote, not the model."""


def kind_of_parts(parts: Any) -> int:
    """`ANSWER` if any part is one, else `REASONING` if any is that; no list has no tokens."""
    found = NOT_A_TOKEN
    for part in items(parts):
        kind = _kind_of_part(part)
        if kind == ANSWER:
            return ANSWER
        found = found or kind
    return found


def _kind_of_part(part: Any) -> int:
    if isinstance(part, str):
        return ANSWER if part else NOT_A_TOKEN
    said = fields_of(part)
    if said.get("type") == "text":  # by far the most
        return ANSWER if has_text(said.get("text")) else NOT_A_TOKEN
    if said.get("type") in _RESULTS:
        return NOT_A_TOKEN
    for name in _THOUGHTS:
        if name in said and _says_something(said[name]):
            return REASONING
    return ANSWER if any(has_text(said.get(name)) for name in _ANSWERS) else NOT_A_TOKEN


def _says_something(value: Any) -> bool:
    """Whether a thought is there: as text, as an object with text, or as a list of those."""
    if isinstance(value, str):
        return value != ""
    return any(has_text(part) or has_text(read(part, "text")) for part in items(value) or (value,))
