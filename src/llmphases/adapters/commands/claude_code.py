"""Claude Code (2.1.197): `claude -p`, as JSON, as a stream of JSON, as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llmphases.adapters.commands.argv import is_program, option
from llmphases.adapters.commands.claude_events import ClaudeEvents, events_of_whole
from llmphases.adapters.commands.json_output import JsonLines, WholeJson
from llmphases.adapters.commands.text_output import TextOutput
from llmphases.adapters.usage import usage_of
from llmphases.capture.children.formats import CommandFormat
from llmphases.recorder.child_events import Event


def _is_claude(words: Sequence[str]) -> bool:
    return is_program(words, "claude")


def _prints(form: str, words: Sequence[str]) -> bool:
    return _is_claude(words) and option(words, "--output-format") == form


def _whole(said: list[dict[str, Any]]) -> list[Event]:
    return events_of_whole(said, usage_of)


FORMATS = (
    CommandFormat(
        name="claude-json",
        matches=lambda words: _prints("json", words),
        reader=lambda: WholeJson(_whole),
    ),
    CommandFormat(  # without --include-partial-messages there are no tokens in it
        name="claude-stream-json",
        matches=lambda words: _prints("stream-json", words),
        reader=lambda: JsonLines(ClaudeEvents(usage_of).read),
    ),
    CommandFormat(  # writes the whole answer at once
        name="claude-text", matches=_is_claude, reader=TextOutput, is_text=True
    ),
)
