"""Events as Claude Code prints them, and those who took its format over."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from llmphases.adapters.anthropic_messages import ANTHROPIC_DICT
from llmphases.adapters.commands.numbers import ns_of_ms, number, numbers_in
from llmphases.adapters.commands.turns import Turns
from llmphases.adapters.contract import Facts, items, text_or_none
from llmphases.adapters.usage import usage_of
from llmphases.calls import Usage
from llmphases.recorder.child_events import Answered, Event, Ready, Retry, Said
from llmphases.recorder.reported import ReportedTimes

_TIMES = (
    "duration_ms",
    "duration_api_ms",
    "ttft_ms",  # to the first complete message
    "ttft_stream_ms",  # to the first event of a stream, which is no token
    "time_to_request_ms",
    "num_turns",
)
_OTHER_ERROR = "_OTHER"

UsageReader = Callable[[Any], Usage | None]


class ClaudeEvents:
    """What the events of one run say, line by line."""

    __slots__ = (
        "_answered",
        "_is_answering",
        "_model",
        "_now",
        "_streams",
        "_turns",
        "_usage_of_run",
    )

    def __init__(self, usage_of_run: UsageReader) -> None:
        """`usage_of_run` reads the usage of a whole run."""
        self._usage_of_run = usage_of_run
        self._turns = Turns()
        self._model: str | None = None
        self._streams = False
        self._is_answering = False
        self._answered = Usage()
        self._now = Facts()

    def read(self, said: Mapping[str, Any]) -> list[Event]:
        """The events of one object."""
        if said.get("parent_tool_use_id") is not None:
            return []  # of an agent that is a tool itself: all its time is a tool's
        found: list[Event] = []
        match said.get("type"):
            case "stream_event":
                found = self._stream_event(said["event"])
            case "system":
                found = self._system(said)
            case "assistant":
                found = self._assistant(said["message"])
            case "user":
                found = self._tool_results(said["message"])
            case "result":
                found = self._result(said)
        return found

    def _system(self, said: Mapping[str, Any]) -> list[Event]:
        match said.get("subtype"):
            case "init":
                return self._turns.ready("init_event") + self._new_model(said.get("model"))
            case "status" if said.get("status") == "requesting" and not self._turns.has_tools:
                return self._turns.seen()
            case "api_retry" if not self._turns.has_tools:
                return [_retry(said)]
        return []

    def _stream_event(self, event: Mapping[str, Any]) -> list[Event]:
        self._streams = True
        self._now = self._now.then(ANTHROPIC_DICT.facts(event))
        match event.get("type"):
            case "message_start":
                self._is_answering = True
                return self._turns.seen() + self._new_model(self._now.response_model)
            case "message_delta":
                usage = usage_of(self._answered + (self._now.usage or Usage()))
                return [Said(usage=usage, provider=self._now.provider)] if usage else []
            case "message_stop":
                self._is_answering = False
                self._answered += self._now.usage or Usage()
                self._now = Facts()
                return self._turns.answered()
        return self._turns.token(ANTHROPIC_DICT.kind(event))

    def _assistant(self, message: Mapping[str, Any]) -> list[Event]:
        # One line for each block of a message: only a tool tells that there is no more to come.
        tools = _blocks(message, "tool_use")
        for tool in tools:
            self._turns.tool_started(tool.get("id"))
        is_over = tools and not self._streams
        return self._new_model(message.get("model")) + (self._turns.answered() if is_over else [])

    def _tool_results(self, message: Mapping[str, Any]) -> list[Event]:
        found: list[Event] = []
        for block in _blocks(message, "tool_result"):
            tool = block.get("tool_use_id")
            found += self._turns.tool_ended(tool, still_answering=self._is_answering)
        return found

    def _result(self, said: Mapping[str, Any]) -> list[Event]:
        error = error_of(said)
        ended = self._turns.failed() if error else self._turns.answered()
        return [*ended, said_by_result(said, self._usage_of_run, error)]

    def _new_model(self, model: Any) -> list[Event]:
        if text_or_none(model) is None or model == self._model:
            return []
        self._model = model
        return [Said(model=model)]


def events_of_whole(said: Iterable[Mapping[str, Any]], usage_of_run: UsageReader) -> list[Event]:
    """What a run tells of itself at its end, all at once: nothing of it was seen happening."""
    found: list[Event] = []
    for one in said:
        if one.get("type") == "result":
            found += _events_of_result(one, usage_of_run)
        elif one.get("type") == "system" and (model := text_or_none(one.get("model"))):
            found.append(Said(model=model))
    return found


def _events_of_result(said: Mapping[str, Any], usage_of_run: UsageReader) -> list[Event]:
    error = error_of(said)
    events: list[Event] = []
    age_ns = _age_ns(said)
    if age_ns is not None:
        events.append(Ready("own_clock", age_ns))
    if not error:
        events.append(Answered())
    events.append(said_by_result(said, usage_of_run, error))
    return events


def _age_ns(said: Mapping[str, Any]) -> int | None:
    """How long before its result the run sent its first request, else how long it was up."""
    whole_ns = ns_of_ms(said.get("duration_ms"))
    if whole_ns is None:
        return None
    before_ns = ns_of_ms(said.get("time_to_request_ms")) or 0
    return max(0, whole_ns - before_ns)


def said_by_result(said: Mapping[str, Any], usage_of_run: UsageReader, error: str | None) -> Said:
    """What the last object of a run adds up."""
    raw = numbers_in(said, *_TIMES)
    return Said(
        usage=usage_of_run(said.get("usage")),
        model=_only_model(said.get("modelUsage")),
        reported=ReportedTimes(raw=raw) if raw else None,
        error=error,
    )


def _only_model(usage_by_model: Any) -> str | None:
    names = list(usage_by_model) if isinstance(usage_by_model, dict) else []
    return text_or_none(names[0]) if len(names) == 1 else None


def error_of(said: Mapping[str, Any]) -> str | None:
    """Why a run failed, by its result; None if it did not."""
    subtype = text_or_none(said.get("subtype"))
    if subtype and subtype.startswith("error"):
        return subtype
    if said.get("is_error") is not True:
        return None
    status = number(said.get("api_error_status"))
    return _OTHER_ERROR if status is None else str(status)


def _retry(said: Mapping[str, Any]) -> Retry:
    status = number(said.get("error_status"))
    reason = text_or_none(said.get("error")) if status is None else str(status)
    return Retry(reason=reason, delay_ns=ns_of_ms(said.get("retry_delay_ms")))


def _blocks(message: Mapping[str, Any], kind: str) -> list[dict[str, Any]]:
    blocks = items(message.get("content"))
    return [block for block in blocks if isinstance(block, dict) and block.get("type") == kind]
