"""Codex (0.171.0): `codex exec --json`, whole items, no tokens; `codex exec`, text at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmphases.adapters.commands.argv import has_flag, is_program
from llmphases.adapters.commands.json_output import JsonLines
from llmphases.adapters.commands.text_output import TextOutput
from llmphases.adapters.commands.turns import Turns
from llmphases.adapters.contract import fields_of
from llmphases.adapters.usage import count, usage_of
from llmphases.calls import Usage
from llmphases.capture.children.formats import CommandFormat
from llmphases.recorder.child_events import Event, Retry, Said

_TOOLS = frozenset({"command_execution", "mcp_tool_call", "collab_tool_call", "file_change"})
"""Items during which Codex works and no model does. A web search is the provider's own."""


class _CodexEvents:
    __slots__ = ("_turns",)

    def __init__(self) -> None:
        self._turns = Turns()

    def read(self, said: Mapping[str, Any]) -> list[Event]:
        found: list[Event] = []
        match said.get("type"):
            case "thread.started":
                found = self._turns.ready("init_event")
            case "turn.started":
                found = self._turns.seen()
            case "item.started" | "item.completed" as kind:
                found = self._item(said["item"], is_over=kind == "item.completed")
            case "turn.completed":
                found = [*self._turns.answered(), Said(usage=_usage_of(said.get("usage")))]
            case "turn.failed":
                found = [*self._turns.failed(), Said(error="turn.failed")]
            case "error" if str(said.get("message")).startswith("Reconnecting"):
                found = [Retry(reason="stream_disconnected")]
        return found

    def _item(self, item: Mapping[str, Any], *, is_over: bool) -> list[Event]:
        if item.get("type") not in _TOOLS:
            return []
        if is_over:
            return self._turns.tool_ended(item.get("id"))
        self._turns.tool_started(item.get("id"))
        return self._turns.answered()


def _usage_of(said: Any) -> Usage | None:
    """The input has the cached tokens in it; older versions name neither of the last two."""
    counts = fields_of(said)
    return usage_of(
        Usage(
            input_tokens=count(counts.get("input_tokens")),
            output_tokens=count(counts.get("output_tokens")),
            cache_read_input_tokens=count(counts.get("cached_input_tokens")),
            cache_write_input_tokens=count(counts.get("cache_write_input_tokens")),
            reasoning_output_tokens=count(counts.get("reasoning_output_tokens")),
        )
    )


def _is_exec(words: Sequence[str]) -> bool:
    return is_program(words, "codex") and ("exec" in words or "e" in words)


def _prints_json(words: Sequence[str]) -> bool:
    return _is_exec(words) and has_flag(words, "--json", "--experimental-json")


FORMATS = (
    CommandFormat(
        name="codex-json",
        matches=_prints_json,
        reader=lambda: JsonLines(_CodexEvents().read),
    ),
    CommandFormat(  # what it does goes to stderr, the answer to stdout when all is done
        name="codex-text", matches=_is_exec, reader=TextOutput, is_text=True
    ),
)
