"""Chunks with `choices`, as OpenAI chat and all that speak its language have them."""

from __future__ import annotations

from typing import Any

from llmphases.adapters.content_parts import kind_of_parts
from llmphases.adapters.contract import (
    ANSWER,
    NOT_A_TOKEN,
    ODD,
    REASONING,
    Facts,
    fields_of,
    has_text,
    items,
    read,
    text_or_none,
)
from llmphases.adapters.reported import reported_of
from llmphases.adapters.usage import usage_of

_THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")


def kind(chunk: Any) -> int:
    """What an SDK's chunk object holds. Most hold text, so that is asked first."""
    try:
        delta = chunk.choices[0].delta
        content = delta.content
        if content and type(content) is str:
            return ANSWER
        if calls := delta.tool_calls:
            function = calls[0].function
            if function.arguments or function.name:
                return ANSWER
        # Where the SDK keeps what others add; asking the object for it costs five times that.
        said = delta.__pydantic_extra__ or delta.__dict__
        if said.get("reasoning_content") or said.get("reasoning"):
            return REASONING
    except ODD:
        pass  # no choice, no delta, or one of those with fewer fields
    return _any_choice(chunk)


def kind_of_dict(chunk: Any) -> int:
    """What the JSON of a chunk holds."""
    try:
        # `get` all the way: a dict that fills itself must not be filled by being looked at.
        content = chunk.get("choices")[0].get("delta").get("content")
        if content and type(content) is str:
            return ANSWER
    except ODD:
        pass
    return _any_choice(chunk)


def _any_choice(chunk: Any) -> int:
    found = NOT_A_TOKEN
    try:
        for choice in items(read(chunk, "choices")):
            delta = read(choice, "delta")
            kind = _of_finished(choice) if delta is None else _of_delta(fields_of(delta))
            if kind == ANSWER:
                return ANSWER
            found = found or kind
    except ODD:
        pass  # not as documented: what was found until here
    return found


def _of_delta(delta: dict[str, Any]) -> int:
    content = delta.get("content")
    kind = kind_of_parts([content] if isinstance(content, str) else content)
    if kind == ANSWER or has_text(delta.get("refusal")) or _has_audio(delta.get("audio")):
        return ANSWER
    if any(_names_a_call(read(call, "function")) for call in items(delta.get("tool_calls"))):
        return ANSWER
    if _names_a_call(delta.get("function_call")):
        return ANSWER
    if kind == REASONING or any(_is_thought(delta.get(name)) for name in _THOUGHTS):
        return REASONING
    return NOT_A_TOKEN


def _of_finished(choice: Any) -> int:
    """The older text completions, and a whole answer that a stream hands out as one chunk."""
    if has_text(read(choice, "text")):
        return ANSWER
    message = read(choice, "message")
    return NOT_A_TOKEN if message is None else _of_delta(fields_of(message))


def _names_a_call(function: Any) -> bool:
    arguments = read(function, "arguments")
    # Mistral's SDK hands out a call's arguments as a dict where the model sent them whole.
    return has_text(read(function, "name")) or has_text(arguments) or _is_filled_dict(arguments)


def _is_filled_dict(value: Any) -> bool:
    return isinstance(value, dict) and bool(value)


def _has_audio(audio: Any) -> bool:
    return has_text(read(audio, "data")) or has_text(read(audio, "transcript"))


def _is_thought(value: Any) -> bool:
    return has_text(value) or bool(kind_of_parts(value))


def facts(chunk: Any) -> Facts | None:
    """Usage, model and times of a chunk, an object or a dict."""
    said = fields_of(chunk)
    groq = said.get("x_groq")
    usage = usage_of(said.get("usage")) or usage_of(groq)
    model, reported = text_or_none(said.get("model")), reported_of(said)
    if usage is None and model is None and reported is None:
        return None
    return Facts(
        usage=usage,
        response_model=model,
        provider=None if groq is None else "groq",
        reported=reported,
    )
