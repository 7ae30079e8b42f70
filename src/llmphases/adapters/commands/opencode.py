"""opencode (1.18.33): `opencode run --format json`, whole parts of each step at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmphases.adapters.commands.argv import is_program, option
from llmphases.adapters.commands.json_output import JsonLines
from llmphases.adapters.contract import fields_of, text_or_none
from llmphases.adapters.usage import count, usage_of
from llmphases.calls import Usage
from llmphases.capture.children.formats import CommandFormat
from llmphases.recorder.child_events import Answered, Event, RequestSeen, Said

_OTHER_ERROR = "_OTHER"


class _Steps:
    """Adds up what each step says of itself.

    The first line comes with the first answer, so nothing tells when the program was ready.
    """

    __slots__ = ("_answers", "_usage")

    def __init__(self) -> None:
        self._answers = 0
        self._usage = Usage()

    def read(self, said: Mapping[str, Any]) -> list[Event]:
        match said.get("type"):
            case "step_start":
                return [RequestSeen()] if self._answers else []
            case "step_finish":
                self._answers += 1
                self._usage += _usage_of(fields_of(fields_of(said.get("part")).get("tokens")))
                usage = usage_of(self._usage)
                return [Answered(), *([Said(usage=usage)] if usage else [])]
            case "error":
                name = text_or_none(fields_of(said.get("error")).get("name"))
                return [Said(error=name or _OTHER_ERROR)]
        return []


def _usage_of(tokens: Mapping[str, Any]) -> Usage:
    """Of one step: the input leaves out what was read from and written to the cache."""
    cache = fields_of(tokens.get("cache"))
    read, write = count(cache.get("read")), count(cache.get("write"))
    input_, output = count(tokens.get("input")), count(tokens.get("output"))
    if input_ is not None:
        input_ += (read or 0) + (write or 0)
    total = count(tokens.get("total"))
    if None not in (input_, output, total):
        assert input_ is not None
        assert output is not None
        assert total is not None
        output = max(output, total - input_)  # versions differ in whether reasoning is in it
    return Usage(
        input_tokens=input_,
        output_tokens=output,
        cache_read_input_tokens=read,
        cache_write_input_tokens=write,
        reasoning_output_tokens=count(tokens.get("reasoning")),
    )


def _prints_json(words: Sequence[str]) -> bool:
    return is_program(words, "opencode") and "run" in words and option(words, "--format") == "json"


FORMATS = (
    CommandFormat(
        name="opencode-json",
        matches=_prints_json,
        reader=lambda: JsonLines(_Steps().read),
    ),
)
