"""GitHub Copilot CLI (1.0.102): `copilot -p ... --output-format json`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from llmphases.adapters.commands.argv import is_program, option
from llmphases.adapters.commands.json_output import JsonLines
from llmphases.adapters.commands.numbers import number, numbers_in
from llmphases.adapters.commands.turns import Turns
from llmphases.adapters.contract import ANSWER, REASONING, fields_of, has_text, text_or_none
from llmphases.capture.children.formats import CommandFormat
from llmphases.recorder.child_events import Event, Retry, Said
from llmphases.recorder.reported import ReportedTimes

_TIMES = ("totalApiDurationMs", "sessionDurationMs")
_OTHER_ERROR = "_OTHER"
_SUCCESS = "success"

_DELTAS = {
    "message_delta": ("deltaContent", ANSWER),
    "tool_call_delta": ("inputDelta", ANSWER),
    "reasoning_delta": ("deltaContent", REASONING),
}


class _CopilotEvents:
    __slots__ = ("_model", "_turns")

    def __init__(self) -> None:
        self._turns = Turns()
        self._model: str | None = None

    def read(self, said: Mapping[str, Any]) -> list[Event]:
        kind, data = said.get("type"), fields_of(said.get("data"))
        if data.get("parentToolCallId") is not None:
            return []  # of an agent that is a tool itself
        area, _, what = str(kind).partition(".")
        found: list[Event] = []
        match area:
            case "assistant":
                found = self._assistant(what, data)
            case "model":
                found = self._model_call(what, data)
            case "tool":
                found = self._tool(what, data.get("toolCallId"))
            case "session" if what == "error":
                error = text_or_none(data.get("errorType")) or _OTHER_ERROR
                found = [*self._turns.failed(), Said(error=error)]
            case "result":
                found = self._result(fields_of(said.get("usage")))
        return found

    def _assistant(self, what: str, data: Mapping[str, Any]) -> list[Event]:
        if what == "turn_start":
            # What comes before are events of the session, which is still being set up.
            return self._turns.ready("init_event")
        field, token = _DELTAS.get(what, ("", 0))
        return self._turns.token(token if has_text(data.get(field)) else 0)

    def _model_call(self, what: str, data: Mapping[str, Any]) -> list[Event]:
        match what:
            case "call_start":
                return self._turns.seen() + self._new_model(data.get("model"))
            case "call_finished" if data.get("outcome") == _SUCCESS:
                return self._turns.answered()
            case "call_failure" if data.get("source") in (None, "top_level"):
                status = number(data.get("statusCode"))
                return [Retry(reason=None if status is None else str(round(status)))]
        return []

    def _tool(self, what: str, name: Any) -> list[Event]:
        match what:
            case "execution_start":
                self._turns.tool_started(name)
                return self._turns.answered()
            case "execution_complete":
                return self._turns.tool_ended(name)
        return []

    def _result(self, usage: Mapping[str, Any]) -> list[Event]:
        raw = numbers_in(usage, *_TIMES)
        last = [Said(reported=ReportedTimes(raw=raw))] if raw else []
        return [*self._turns.answered(), *last]

    def _new_model(self, model: Any) -> list[Event]:
        if text_or_none(model) is None or model == self._model:
            return []
        self._model = model
        return [Said(model=model)]


def _prints_json(words: Sequence[str]) -> bool:
    return is_program(words, "copilot") and option(words, "--output-format") == "json"


FORMATS = (
    CommandFormat(
        name="copilot-json",
        matches=_prints_json,
        reader=lambda: JsonLines(_CopilotEvents().read),
    ),
)
