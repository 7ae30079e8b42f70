"""Chunks that are dicts: which API a dict comes from is told by its keys."""

from __future__ import annotations

from typing import Any

from llmphases.adapters.anthropic_messages import ANTHROPIC_DICT
from llmphases.adapters.bedrock_converse import BEDROCK
from llmphases.adapters.contract import NOT_A_TOKEN, ODD, ChunkShape, Facts, is_dict
from llmphases.adapters.google_contents import GOOGLE_GENAI_DICT
from llmphases.adapters.ollama_chunks import OLLAMA_DICT
from llmphases.adapters.openai_chat import OPENAI_CHAT_DICT
from llmphases.adapters.openai_responses import OPENAI_RESPONSES_DICT
from llmphases.adapters.plain_dicts import PLAIN_DICT

_SHAPES = (
    OPENAI_CHAT_DICT,
    OPENAI_RESPONSES_DICT,
    ANTHROPIC_DICT,
    GOOGLE_GENAI_DICT,
    OLLAMA_DICT,
    BEDROCK,
    PLAIN_DICT,
)
"""In the order they are asked; the last one takes what is left."""


def shape_of_dict(chunk: dict[str, Any]) -> ChunkShape:
    """The shape of one dict."""
    for shape in _SHAPES:
        if shape.matches(chunk):
            return shape
    return PLAIN_DICT


def _kind(chunk: dict[str, Any]) -> int:
    try:
        return shape_of_dict(chunk).kind(chunk)
    except ODD:  # a dict with methods of its own
        return NOT_A_TOKEN


def _facts(chunk: dict[str, Any]) -> Facts | None:
    return shape_of_dict(chunk).facts(chunk)


# One shape for all of them, which looks at each dict anew: a stream may mix them.
ANY_DICT = ChunkShape(name="dict", matches=is_dict, kind=_kind, facts=_facts)
