"""OpenAI chat completions, and the SDKs whose chunks have the same fields."""

from __future__ import annotations

from typing import Any

from llmphases.adapters import choices
from llmphases.adapters.contract import NOT_A_TOKEN, ODD, ChunkShape, Facts, named, read

OPENAI_CHAT = ChunkShape(
    name="openai_chat",
    matches=named(
        "*.ChatCompletionChunk",  # openai, groq, together, fireworks and more
        "openai.Completion",
        "litellm.ModelResponse*",
        "litellm.TextCompletionResponse",
        "cerebras.ChatChunkResponse",
        "azure.StreamingChatCompletionsUpdate",
    ),
    kind=choices.kind,
    facts=choices.facts,
)

OPENAI_CHAT_DICT = ChunkShape(
    name="openai_chat_dict",
    matches=lambda chunk: "choices" in chunk,
    kind=choices.kind_of_dict,
    facts=choices.facts,
)


def _kind_of_event(event: Any) -> int:
    try:
        chunk = event.chunk
    except ODD:
        return NOT_A_TOKEN
    return choices.kind(chunk)


def _facts_of_event(event: Any) -> Facts | None:
    return choices.facts(read(event, "chunk"))


# `chat.completions.stream()` hands out each chunk in a ChunkEvent, and after it events derived from
# it (ContentDeltaEvent, RefusalDeltaEvent ...), which have no shape: a token counts once.
OPENAI_CHAT_EVENT = ChunkShape(
    name="openai_chat_event",
    matches=named("openai.ChunkEvent"),
    kind=_kind_of_event,
    facts=_facts_of_event,
)
