"""The attributes of one call's span, read back into a `Call`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from llmphases import conventions as names
from llmphases.calls import AttributeValue, Call, Detail, Ended, ProcessUse, Scalar, Stretch, Usage
from llmphases.phases import Cost, Phase
from llmphases.records import assembler
from llmphases.sources.contract import SpanRecord

Attributes = Mapping[str, AttributeValue]

_call = assembler(Call)

_PHASE_OF = {names.phase_duration(phase): phase for phase in Phase}
_COST_DURATIONS = {cost: names.cost_duration(cost) for cost in Cost}
_COST_OF = {phase: phase.cost for phase in Phase}
_CANDIDATES = (Cost.UNSPLIT, Cost.FIXED)
_NO_PROCESS = ProcessUse()
_ENDED: dict[object, Ended] = {ended.value: ended for ended in Ended}
_MANY_KEYS = 1000
"""How many names of attributes are remembered: the same few are met on every call."""
_DEFAULT_OPERATION = "chat"
_OTHER_ERROR = "_OTHER"
"""What the conventions call an error whose type nobody said."""


def call_of(
    span: SpanRecord,
    *,
    stretches: tuple[Stretch, ...] = (),
    stalls: tuple[Stretch, ...] = (),
    details: tuple[Detail, ...] = (),
) -> Call:
    """The call that this span is.

    Raises `KeyError`, `TypeError`, `ValueError` or `OverflowError` if its numbers are missing,
    are none, or do not add up: then it is no call whose time one could explain.
    """
    said = span.attributes
    costs = {cost: _required_ns(said, key) for cost, key in _COST_DURATIONS.items()}
    exclusive = {phase: _required_ns(said, key) for key, phase in _PHASE_OF.items() if key in said}
    unattributed = _required_ns(said, names.UNATTRIBUTED_DURATION)
    return _call(
        name=str(said[names.CALL_NAME]),
        start_unix_ns=span.start_unix_ns,
        duration_ns=sum(costs.values()),
        exclusive_ns=exclusive,
        unattributed_ns=unattributed,
        unattributed_cost=_unattributed_cost(costs, exclusive, unattributed),
        stretches=stretches,
        stalls=stalls,
        details=details,
        usage=_usage(said),
        error_type=_error_type(span),
        ended=_ended(said),
        reported=_reported(said),
        process=_process(said),
        attributes=_own_attributes(said),
        trace_id=span.trace_id,
        span_id=span.span_id,
        **_facts(said),
    )


def _facts(said: Attributes) -> dict[str, Any]:
    """The fields that are one attribute each."""
    operation = _text(said, names.OPERATION_NAME)
    return {
        "operation": _DEFAULT_OPERATION if operation is None else operation,
        "provider": _text(said, names.PROVIDER_NAME),
        "request_model": _text(said, names.REQUEST_MODEL),
        "response_model": _text(said, names.RESPONSE_MODEL),
        "stream": said.get(names.REQUEST_STREAM) is True,
        "requests": _whole(said, names.REQUESTS) or 0,
        "retries": _whole(said, names.RETRIES) or 0,
        "chunks": _whole(said, names.CHUNKS),
        "first_chunk_ns": _ns(said, names.TIME_TO_FIRST_CHUNK),
        "first_token_ns": _ns(said, names.CALL_TIME_TO_FIRST_TOKEN),
        "first_reasoning_ns": _ns(said, names.TIME_TO_FIRST_REASONING_TOKEN),
        "first_answer_ns": _ns(said, names.TIME_TO_FIRST_ANSWER_TOKEN),
        "first_token_rule": _text(said, names.FIRST_TOKEN_RULE),
        "units": _whole(said, names.UNITS),
        "batch_size": _whole(said, names.BATCH_SIZE),
        "cache_result": _text(said, names.CACHE_RESULT),
        "queued_ns": _ns(said, names.QUEUED_DURATION),
        "nested": said.get(names.CALL_NESTED) is True,
        "job": _text(said, names.JOB_NAME),
        "reported_trusted": _truth(said, names.REPORTED_TRUSTED),
    }


def _required_ns(said: Attributes, key: str) -> int:
    nanoseconds = _ns(said, key)
    if nanoseconds is None:
        raise KeyError(key)
    if nanoseconds < 0:
        raise ValueError(f"{key} is negative")
    return nanoseconds


def _unattributed_cost(
    costs: Mapping[Cost, int], exclusive: Mapping[Phase, int], unattributed_ns: int
) -> Cost:
    rest = dict(costs)
    for phase, nanoseconds in exclusive.items():
        rest[_COST_OF[phase]] -= nanoseconds
    left = {cost: ns for cost, ns in rest.items() if ns}
    for candidate in _CANDIDATES:
        if left == ({candidate: unattributed_ns} if unattributed_ns else {}):
            return candidate
    raise ValueError(f"phases and costs do not add up: {rest}, {unattributed_ns} unattributed")


def _usage(said: Attributes) -> Usage | None:
    usage = Usage(
        input_tokens=_tokens(said, names.INPUT_TOKENS),
        output_tokens=_tokens(said, names.OUTPUT_TOKENS),
        cache_read_input_tokens=_tokens(said, names.CACHE_READ_INPUT_TOKENS),
        cache_write_input_tokens=_tokens(said, names.CACHE_WRITE_INPUT_TOKENS),
        reasoning_output_tokens=_tokens(said, names.REASONING_OUTPUT_TOKENS),
    )
    return usage or None


def _tokens(said: Attributes, key: str) -> int | None:
    count = _whole(said, key)
    return _whole(said, names.USAGE_OF_OURS[key]) if count is None else count


def _process(said: Attributes) -> ProcessUse | None:
    process = ProcessUse(
        executable=_text(said, names.PROCESS_EXECUTABLE_NAME),
        pid=_whole(said, names.PROCESS_PID),
        exit_code=_whole(said, names.PROCESS_EXIT_CODE),
        wall_ns=_ns(said, names.PROCESS_DURATION),
        cpu_ns=_ns(said, names.PROCESS_CPU_TIME),
        memory_peak=_whole(said, names.PROCESS_MEMORY_PEAK),
        survivors=_whole(said, names.PROCESS_SURVIVORS),
    )
    return None if process == _NO_PROCESS else process


def _error_type(span: SpanRecord) -> str | None:
    said = _text(span.attributes, names.ERROR_TYPE)
    return _OTHER_ERROR if said is None and span.status_error else said


def _ended(said: Attributes) -> Ended | None:
    return _ENDED.get(said.get(names.STREAM_ENDED))


def _reported(said: Attributes) -> dict[str, Scalar]:
    return {
        key.removeprefix(names.REPORTED_PREFIX): value
        for key, value in said.items()
        if _is_reported(key) and not isinstance(value, tuple)
    }


def _own_attributes(said: Attributes) -> dict[str, AttributeValue]:
    return {key: value for key, value in said.items() if not _is_ours(key)}


@lru_cache(_MANY_KEYS)
def _is_reported(key: str) -> bool:
    return key.startswith(names.REPORTED_PREFIX) and key != names.REPORTED_TRUSTED


_is_ours = lru_cache(_MANY_KEYS)(names.is_ours)


def _ns(said: Attributes, key: str) -> int | None:
    value = said.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return round(value * 1e9)


def _whole(said: Attributes, key: str) -> int | None:
    value = said.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _text(said: Attributes, key: str) -> str | None:
    value = said.get(key)
    return value if isinstance(value, str) else None


def _truth(said: Attributes, key: str) -> bool | None:
    value = said.get(key)
    return value if isinstance(value, bool) else None
