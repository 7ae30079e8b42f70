"""Gemini CLI (0.61.0): as JSON, as a stream of JSON, as text that streams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmphases.adapters.commands.argv import is_program, option
from llmphases.adapters.commands.json_output import JsonLines, WholeJson
from llmphases.adapters.commands.numbers import number, numbers_in
from llmphases.adapters.commands.text_output import TextOutput
from llmphases.adapters.commands.turns import Turns
from llmphases.adapters.contract import ANSWER, fields_of, has_text, text_or_none
from llmphases.adapters.usage import count, usage_of
from llmphases.calls import Usage
from llmphases.capture.children.formats import CommandFormat
from llmphases.recorder.child_events import Answered, Event, Said
from llmphases.recorder.reported import ReportedTimes

_OTHER_ERROR = "_OTHER"


class _GeminiEvents:
    __slots__ = ("_turns",)

    def __init__(self) -> None:
        self._turns = Turns()

    def read(self, said: Mapping[str, Any]) -> list[Event]:
        match said.get("type"):
            case "init":
                model = text_or_none(said.get("model"))
                return self._turns.ready("init_event") + ([Said(model=model)] if model else [])
            case "message" if said.get("role") == "assistant" and said.get("delta") is True:
                return self._turns.token(ANSWER if has_text(said.get("content")) else 0)
            case "tool_use":  # a piece of the stream, and there may be more of them
                self._turns.tool_started(said.get("tool_id"))
                return self._turns.token(ANSWER)
            case "tool_result":
                return self._turns.tool_ended(said.get("tool_id"))
            case "result":
                return self._result(said)
        return []

    def _result(self, said: Mapping[str, Any]) -> list[Event]:
        stats = fields_of(said.get("stats"))
        raw = numbers_in(stats, "duration_ms", "tool_calls")
        error = _error_of(said) if said.get("status") == "error" else None
        ended = self._turns.failed() if error else self._turns.answered()
        last = Said(
            usage=_usage_of_stream(stats),
            model=_only_name(stats.get("models")),
            reported=ReportedTimes(raw=raw) if raw else None,
            error=error,
        )
        return [*ended, last]


def _usage_of_stream(stats: Mapping[str, Any]) -> Usage | None:
    input_, output = count(stats.get("input_tokens")), count(stats.get("output_tokens"))
    total = count(stats.get("total_tokens"))
    if None not in (input_, output, total):
        assert input_ is not None
        assert output is not None
        assert total is not None
        output = max(output, total - input_)  # what it thought is in the total only
    return usage_of(
        Usage(
            input_tokens=input_,
            output_tokens=output,
            cache_read_input_tokens=count(stats.get("cached")),
        )
    )


def _whole(said: list[dict[str, Any]]) -> list[Event]:
    run = said[0]
    models = fields_of(fields_of(run.get("stats")).get("models"))
    usage, raw = Usage(), dict[str, int | float]()
    for model in map(fields_of, models.values()):
        usage += _usage_of_model(fields_of(model.get("tokens")))
        for name in ("totalLatencyMs", "totalRequests", "totalErrors"):
            if (value := number(fields_of(model.get("api")).get(name))) is not None:
                raw[name] = raw.get(name, 0) + value
    error = _error_of(run) if run.get("error") else None
    last = Said(
        usage=usage_of(usage),
        model=_only_name(models),
        reported=ReportedTimes(raw=raw) if raw else None,
        error=error,
    )
    return [last] if error else [Answered(), last]


def _usage_of_model(tokens: Mapping[str, Any]) -> Usage:
    """Cached input is in the prompt, thoughts are not in the candidates."""
    prompt, thoughts = count(tokens.get("prompt")), count(tokens.get("thoughts"))
    candidates = count(tokens.get("candidates"))
    return Usage(
        input_tokens=None if prompt is None else prompt + (count(tokens.get("tool")) or 0),
        output_tokens=None if candidates is None else candidates + (thoughts or 0),
        cache_read_input_tokens=count(tokens.get("cached")),
        reasoning_output_tokens=thoughts,
    )


def _only_name(by_model: Any) -> str | None:
    names = list(fields_of(by_model))
    return text_or_none(names[0]) if len(names) == 1 else None


def _error_of(said: Mapping[str, Any]) -> str:
    return text_or_none(fields_of(said.get("error")).get("type")) or _OTHER_ERROR


def _is_gemini(words: Sequence[str]) -> bool:
    return is_program(words, "gemini")


def _prints(form: str, words: Sequence[str]) -> bool:
    return _is_gemini(words) and option(words, "--output-format", "-o") == form


FORMATS = (
    CommandFormat(
        name="gemini-json",
        matches=lambda words: _prints("json", words),
        reader=lambda: WholeJson(_whole),
    ),
    CommandFormat(
        name="gemini-stream-json",
        matches=lambda words: _prints("stream-json", words),
        reader=lambda: JsonLines(_GeminiEvents().read),
    ),
    CommandFormat(  # writes each piece as it comes
        name="gemini-text", matches=_is_gemini, reader=TextOutput, is_text=True, streams=True
    ),
)
