"""Qwen Code (0.15.10): Claude Code's events, one per line or all in one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmphases.adapters.commands.argv import is_program, option
from llmphases.adapters.commands.claude_events import ClaudeEvents, events_of_whole
from llmphases.adapters.commands.json_output import JsonLines, WholeJson
from llmphases.adapters.contract import fields_of
from llmphases.adapters.usage import count, usage_of
from llmphases.calls import Usage
from llmphases.capture.children.formats import CommandFormat
from llmphases.recorder.child_events import Event


def _usage_of(said: Any) -> Usage | None:
    """Anthropic's names, but the input has the cached tokens in it."""
    counts = fields_of(said)
    return usage_of(
        Usage(
            input_tokens=count(counts.get("input_tokens")),
            output_tokens=count(counts.get("output_tokens")),
            cache_read_input_tokens=count(counts.get("cache_read_input_tokens")),
        )
    )


def _prints(form: str, words: Sequence[str]) -> bool:
    return is_program(words, "qwen") and option(words, "--output-format", "-o") == form


def _whole(said: list[dict[str, Any]]) -> list[Event]:
    return events_of_whole(said, _usage_of)


FORMATS = (
    CommandFormat(
        name="qwen-json",
        matches=lambda words: _prints("json", words),
        reader=lambda: WholeJson(_whole),
    ),
    CommandFormat(
        name="qwen-stream-json",
        matches=lambda words: _prints("stream-json", words),
        reader=lambda: JsonLines(ClaudeEvents(_usage_of).read),
    ),
)
