"""OpenAI Responses: events named by `type`."""

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
    named,
    read,
    text_or_none,
)
from llmphases.adapters.reported import reported_of
from llmphases.adapters.usage import usage_of

_KINDS = {
    "response.output_text.delta": ANSWER,
    "response.refusal.delta": ANSWER,
    "response.function_call_arguments.delta": ANSWER,
    "response.custom_tool_call_input.delta": ANSWER,
    "response.mcp_call_arguments.delta": ANSWER,
    "response.code_interpreter_call_code.delta": ANSWER,
    "response.shell_call_command.delta": ANSWER,
    "response.audio.delta": ANSWER,
    "response.audio.transcript.delta": ANSWER,
    "response.reasoning_summary_text.delta": REASONING,
    "response.reasoning_text.delta": REASONING,
}
"""The events that bring something new; all others frame it or, as `*.done`, repeat it."""


def _kind(event: Any) -> int:
    try:
        kind = _KINDS.get(event.type)
        if kind and event.delta:
            return kind
    except ODD:
        pass  # not as documented
    return NOT_A_TOKEN


def _kind_of_dict(event: Any) -> int:
    try:
        kind = _KINDS.get(event.get("type"))
        if kind and event.get("delta"):
            return kind
    except ODD:
        pass
    return NOT_A_TOKEN


def _facts(event: Any) -> Facts | None:
    response = read(event, "response")
    if response is None:
        return None
    said = fields_of(response)
    return Facts(
        usage=usage_of(said.get("usage")),
        response_model=text_or_none(said.get("model")),
        reported=reported_of(said),
    )


def _is_event(chunk: Any) -> bool:
    kind = chunk.get("type")
    return isinstance(kind, str) and kind.startswith("response.")


OPENAI_RESPONSES = ChunkShape(
    name="openai_responses", matches=named("openai.Response*Event"), kind=_kind, facts=_facts
)
OPENAI_RESPONSES_DICT = ChunkShape(
    name="openai_responses_dict", matches=_is_event, kind=_kind_of_dict, facts=_facts
)
