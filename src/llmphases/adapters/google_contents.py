"""Google GenAI: responses made of candidates made of parts."""

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
from llmphases.adapters.usage import usage_of

_ANSWERS = (
    "function_call",
    "functionCall",
    "executable_code",
    "executableCode",
    "inline_data",
    "inlineData",
)
"""What a model writes besides text, in the SDK's spelling and on the wire."""


def _kind(response: Any) -> int:
    try:
        part = response.candidates[0].content.parts[0]
        if part.text and not part.thought:
            return ANSWER
    except ODD:
        pass  # no candidate, no part, or only usage
    return _any_part(response)


def _any_part(response: Any) -> int:
    found = NOT_A_TOKEN
    try:
        for candidate in items(read(response, "candidates")):
            for part in items(read(read(candidate, "content"), "parts")):
                kind = _of_part(part)
                if kind == ANSWER:
                    return ANSWER
                found = found or kind
    except ODD:
        pass  # not as documented: what was found until here
    return found


def _of_part(part: Any) -> int:
    said = fields_of(part)
    if has_text(said.get("text")):
        return REASONING if said.get("thought") is True else ANSWER
    return ANSWER if any(said.get(name) is not None for name in _ANSWERS) else NOT_A_TOKEN


def _facts(response: Any) -> Facts | None:
    said = fields_of(response)
    usage = usage_of(said.get("usage_metadata")) or usage_of(said.get("usageMetadata"))
    model = text_or_none(said.get("model_version")) or text_or_none(said.get("modelVersion"))
    if usage is None and model is None:
        return None
    return Facts(usage=usage, response_model=model)


def _is_response(chunk: Any) -> bool:
    return "candidates" in chunk or "usageMetadata" in chunk or "usage_metadata" in chunk


GOOGLE_GENAI = ChunkShape(
    name="google_genai",
    matches=named("google.GenerateContentResponse"),
    kind=_kind,
    facts=said_by("gcp.gen_ai", _facts),
)
GOOGLE_GENAI_DICT = ChunkShape(
    name="google_genai_dict", matches=_is_response, kind=_any_part, facts=_facts
)
