"""Token usage, read from whatever a provider or its SDK calls it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from llmphases.adapters.contract import ODD, fields_of, read
from llmphases.calls import Usage

_LARGEST = 2**63 - 1  # one larger integer and an exporter drops the whole batch


@dataclass(frozen=True, slots=True, kw_only=True)
class _Names:
    """How one family of APIs names its counts; a dot goes into a nested object."""

    input: tuple[str, ...]
    """The names that tell this family; of several, the first that holds a count."""
    output: tuple[str, ...]
    cache_read: tuple[str, ...] = ()
    cache_write: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    input_besides: tuple[str, ...] = ()
    """Input that `input` leaves out."""
    output_leaves_out_reasoning: bool = False
    total: str | None = None
    only_with: tuple[str, ...] = ()
    """Unless empty, one of these has to be there too, be it None."""
    input_leaves_out_cache: bool = False


_FAMILIES = (
    _Names(  # OpenAI chat, and who follows it: Groq, Mistral, vLLM, llama.cpp, LiteLLM, SGLang
        input=("prompt_tokens",),
        output=("completion_tokens",),
        cache_read=(
            "prompt_tokens_details.cached_tokens",
            "prompt_cache_hit_tokens",  # DeepSeek
            "cached_tokens",  # SGLang
            "cache_read_input_tokens",  # LiteLLM, whose prompt_tokens hold the cached ones too
        ),
        cache_write=("prompt_tokens_details.cache_write_tokens", "cache_creation_input_tokens"),
        reasoning=("completion_tokens_details.reasoning_tokens", "reasoning_tokens"),
    ),
    _Names(  # our own names, as `Usage` has them; and Codex, which counts as we do
        input=("input_tokens",),
        output=("output_tokens",),
        cache_read=("cache_read_input_tokens", "cached_input_tokens"),
        cache_write=("cache_write_input_tokens",),
        reasoning=("reasoning_output_tokens",),
        only_with=("cache_write_input_tokens", "reasoning_output_tokens"),
    ),
    # Anthropic and OpenAI's Responses both say `input_tokens`, and only the former leaves the
    # cache out of it. What tells them apart are the cache's own counts beside it (Anthropic's SDK
    # has them always, if as None), where Responses has `input_tokens_details`.
    _Names(
        input=("input_tokens",),
        output=("output_tokens",),
        cache_read=("cache_read_input_tokens",),
        cache_write=("cache_creation_input_tokens",),
        reasoning=(
            "output_tokens_details.reasoning_tokens",
            "output_tokens_details.thinking_tokens",
        ),
        total="total_tokens",
        only_with=("cache_creation_input_tokens", "cache_read_input_tokens"),
        input_leaves_out_cache=True,
    ),
    _Names(  # OpenAI Responses; LangChain (`input_token_details`); Cohere's `tokens`
        input=("input_tokens",),
        output=("output_tokens",),
        cache_read=("input_tokens_details.cached_tokens", "input_token_details.cache_read"),
        cache_write=(
            "input_tokens_details.cache_write_tokens",
            "input_token_details.cache_creation",
        ),
        reasoning=(
            "output_tokens_details.reasoning_tokens",
            "output_token_details.reasoning",
        ),
    ),
    _Names(  # Gemini, its SDK
        input=("prompt_token_count",),
        output=("candidates_token_count",),
        cache_read=("cached_content_token_count",),
        reasoning=("thoughts_token_count",),
        input_besides=("tool_use_prompt_token_count",),
        output_leaves_out_reasoning=True,
    ),
    _Names(  # Gemini, on the wire
        input=("promptTokenCount",),
        output=("candidatesTokenCount",),
        cache_read=("cachedContentTokenCount",),
        reasoning=("thoughtsTokenCount",),
        input_besides=("toolUsePromptTokenCount",),
        output_leaves_out_reasoning=True,
    ),
    _Names(  # Bedrock: Converse, and the metrics of a streamed InvokeModel
        input=("inputTokens", "inputTokenCount"),
        output=("outputTokens", "outputTokenCount"),
        cache_read=("cacheReadInputTokens", "cacheReadInputTokenCount"),
        cache_write=("cacheWriteInputTokens", "cacheWriteInputTokenCount"),
        total="totalTokens",
        input_leaves_out_cache=True,
    ),
    _Names(input=("prompt_eval_count",), output=("eval_count",)),  # Ollama
)

_HOLDERS = (
    "usage",
    "usage_metadata",
    "usageMetadata",
    "x_groq",
    "message",
    "response",
    "metadata",
    "meta_info",
    "tokens",
    "amazon-bedrock-invocationMetrics",
)
"""Where a response, an event or a chunk keeps its usage."""

_DEEPEST = 3
_TOP = _HOLDERS + tuple(
    path.partition(".")[0]
    for names in _FAMILIES
    for paths in (names.input, names.output, names.cache_read, names.cache_write, names.reasoning)
    for path in paths
)
"""Every name that is looked up, without what is nested under it."""


def usage_of(source: Any) -> Usage | None:
    """The usage in a usage object, a response, a chunk, or a dict of any of these.

    None if there is none. Only whole, non-negative numbers count: whatever else stands where a
    count should be is as unknown as a missing one. Never raises for odd values; reads, and neither
    changes nor keeps, what it is given.
    """
    if source is None:  # most chunks
        return None
    if isinstance(source, Usage):
        return _only_counts(source) or None
    try:
        return _search(source, _DEEPEST)
    except ODD:
        return None  # an object that is not as documented has said nothing


def _search(source: Any, depth: int) -> Usage | None:
    said = fields_of(source) or _answers_of(source)
    for names in _FAMILIES:
        if usage := _by(names, said):
            return usage
    if depth:
        for holder in _HOLDERS:
            if holder in said and (usage := _search(said[holder], depth - 1)):
                return usage
    return None


def _answers_of(source: Any) -> dict[str, Any]:
    """What an object without a `__dict__` answers to: one with slots, a named tuple."""
    if source is None or isinstance(source, (str, bytes, int, float, list)):
        return {}
    return {name: value for name in _TOP if (value := getattr(source, name, None)) is not None}


def _by(names: _Names, said: dict[str, Any]) -> Usage | None:
    if not any(name in said for name in names.input + names.output):
        return None
    if names.only_with and not any(name in said for name in names.only_with):
        return None
    cache_read, cache_write = _first(said, names.cache_read), _first(said, names.cache_write)
    reasoning = _first(said, names.reasoning)
    input_, output = _first(said, names.input), _first(said, names.output)
    if input_ is not None:
        input_ += _first(said, names.input_besides) or 0
        if names.input_leaves_out_cache and not _is_whole(names, said, input_, output):
            input_ += (cache_read or 0) + (cache_write or 0)
    if names.output_leaves_out_reasoning and reasoning is not None:
        output = (output or 0) + reasoning
    usage = Usage(
        input_tokens=input_,
        output_tokens=output,
        cache_read_input_tokens=cache_read,
        cache_write_input_tokens=cache_write,
        reasoning_output_tokens=reasoning,
    )
    return _only_counts(usage) or None


def _is_whole(names: _Names, said: dict[str, Any], input_: int, output: int | None) -> bool:
    # Some who borrow Anthropic's names count the cache in; then the total is the plain sum.
    total = None if names.total is None else count(said.get(names.total))
    return total is not None and total == input_ + (output or 0)


def _first(said: dict[str, Any], paths: tuple[str, ...]) -> int | None:
    for path in paths:
        name, _, inner = path.partition(".")
        if name in said:
            found = read(said[name], inner) if inner else said[name]
            if (known := count(found)) is not None:
                return known
    return None


def count(value: Any) -> int | None:
    """A number of tokens; None for all that is none, True and "12" included."""
    return value if type(value) is int and 0 <= value <= _LARGEST else None


def _only_counts(usage: Usage) -> Usage:
    return replace(
        usage,
        input_tokens=count(usage.input_tokens),
        output_tokens=count(usage.output_tokens),
        cache_read_input_tokens=count(usage.cache_read_input_tokens),
        cache_write_input_tokens=count(usage.cache_write_input_tokens),
        reasoning_output_tokens=count(usage.reasoning_output_tokens),
    )
