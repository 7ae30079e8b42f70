"""What spans say of a call, a phase or a job, as flat attributes: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any

from llmphases import conventions as names
from llmphases.calls import AttributeValue, Call
from llmphases.observers import OpenCall, OpenJob, OpenPhase
from llmphases.phases import Cost, Origin, Phase
from llmphases.recorder.process_use import process_attributes

Attributes = dict[str, AttributeValue]

_SCALARS = (str, bool, int, float)
_LARGEST_INT = 2**63 - 1
_COST_DURATIONS = tuple((cost, names.cost_duration(cost)) for cost in Cost)
_NO_COSTS = dict.fromkeys(Cost, 0)
_FIXED, _GENERATION, _UNSPLIT = Cost.FIXED, Cost.GENERATION, Cost.UNSPLIT
_RETRIEVAL = Phase.RETRIEVAL
"""Found through its class, a member costs 0.3 us in Python 3.11."""
_COST_OF = {phase: phase.cost for phase in Phase}
_PHASE_DURATIONS = {phase: names.phase_duration(phase) for phase in Phase}

_TIMES = {
    names.CALL_TIME_TO_FIRST_TOKEN: "first_token_ns",
    names.TIME_TO_FIRST_REASONING_TOKEN: "first_reasoning_ns",
    names.TIME_TO_FIRST_ANSWER_TOKEN: "first_answer_ns",
    names.QUEUED_DURATION: "queued_ns",
}
"""Which field of a `Call` an attribute tells, in seconds."""
_FACTS = {
    names.PROVIDER_NAME: "provider",
    names.REQUEST_MODEL: "request_model",
    names.RESPONSE_MODEL: "response_model",
    names.CHUNKS: "chunks",
    names.UNITS: "units",
    names.CACHE_RESULT: "cache_result",
    names.BATCH_SIZE: "batch_size",
    names.FIRST_TOKEN_RULE: "first_token_rule",
    names.REPORTED_TRUSTED: "reported_trusted",
    names.JOB_NAME: "job",
    names.ERROR_TYPE: "error_type",
}
_USAGE = {
    names.INPUT_TOKENS: "input_tokens",
    names.OUTPUT_TOKENS: "output_tokens",
    names.CACHE_READ_INPUT_TOKENS: "cache_read_input_tokens",
    names.CACHE_WRITE_INPUT_TOKENS: "cache_write_input_tokens",
    names.REASONING_OUTPUT_TOKENS: "reasoning_output_tokens",
}
_times_of = attrgetter(*_TIMES.values())
_facts_of = attrgetter(*_FACTS.values())
_usage_of = attrgetter(*_USAGE.values())


def _phase_template(phase: Phase, origin: Origin) -> Attributes:
    template: Attributes = {
        names.PHASE: phase.value,
        names.COST: phase.cost.value,
        names.ORIGIN: origin.value,
    }
    return template


_PHASE_TEMPLATES = {(p, o): _phase_template(p, o) for p in Phase for o in Origin}


def seconds(nanoseconds: int) -> float:
    """Whole nanoseconds as seconds; `round(x * 1e9)` gives them back, up to 26 days."""
    return nanoseconds / 1e9


def exportable(attributes: Mapping[str, Any]) -> Attributes:
    """Those attributes that any SDK can export as they are; others are left out, not printed.

    Old SDKs warn about other types, new ones print them with `str`, and an integer of more than 64
    bits is lost in the encoder.
    """
    return {key: value for key, value in attributes.items() if _is_exportable(value)}


def _is_exportable(value: Any) -> bool:
    if isinstance(value, int):
        return -_LARGEST_INT <= value <= _LARGEST_INT
    if isinstance(value, (tuple, list)):
        kinds = {type(item) for item in value}
        return len(kinds) <= 1 and all(
            isinstance(item, _SCALARS) and _is_exportable(item) for item in value
        )
    return isinstance(value, _SCALARS)


def call_start_attributes(call: OpenCall) -> Attributes:
    """What is known when a call begins: samplers may decide by it."""
    attributes: Attributes = {
        names.OPERATION_NAME: call.operation,
        names.CALL_NAME: call.name,
        names.CALL_NESTED: call.nested,
    }
    if call.provider is not None:
        attributes[names.PROVIDER_NAME] = call.provider
    if call.request_model is not None:
        attributes[names.REQUEST_MODEL] = call.request_model
    if call.job is not None:
        attributes[names.JOB_NAME] = call.job.name
    return attributes


def call_attributes(record: Call) -> Attributes:
    """Everything the span of a finished call says; what was not measured or said is left out."""
    attributes = exportable(record.attributes) if record.attributes else {}
    attributes[names.OPERATION_NAME] = record.operation
    attributes[names.CALL_NAME] = record.name
    attributes[names.CALL_NESTED] = record.nested
    _add_costs(attributes, record)
    _add_known(attributes, _FACTS, _facts_of(record))
    for key, nanoseconds in zip(_TIMES, _times_of(record), strict=True):
        if nanoseconds is not None:
            attributes[key] = seconds(nanoseconds)
    if record.ended is not None:
        attributes[names.STREAM_ENDED] = record.ended.value
    if record.requests:
        attributes[names.REQUESTS] = record.requests
        attributes[names.RETRIES] = record.retries
    if record.stream:
        _add_stream(attributes, record)
    if record.usage is not None:
        _add_known(attributes, _USAGE, _usage_of(record.usage))
    if record.process is not None:
        attributes.update(process_attributes(record.process))
    if record.reported:
        for key, value in exportable(record.reported).items():
            attributes[names.REPORTED_PREFIX + key] = value
    return attributes


def with_usage_of_ours(attributes: Attributes) -> Attributes:
    """Tokens under names of ours: somebody else's span tells them under the conventions' names."""
    return {names.USAGE_OF_OURS.get(key, key): value for key, value in attributes.items()}


def _add_known(attributes: Attributes, keys: Iterable[str], values: tuple[Any, ...]) -> None:
    for key, value in zip(keys, values, strict=True):
        if value is not None:
            attributes[key] = value


def _add_stream(attributes: Attributes, record: Call) -> None:
    attributes[names.REQUEST_STREAM] = True
    if record.first_chunk_ns is not None:
        attributes[names.TIME_TO_FIRST_CHUNK] = seconds(record.first_chunk_ns)


def _add_costs(attributes: Attributes, record: Call) -> None:
    costs = costs_of(record)
    # `seconds`, without nine calls of it
    for phase, nanoseconds in record.exclusive_ns.items():
        attributes[_PHASE_DURATIONS[phase]] = nanoseconds / 1e9
    for cost, key in _COST_DURATIONS:
        attributes[key] = costs[cost] / 1e9
    attributes[names.UNATTRIBUTED_DURATION] = seconds(record.unattributed_ns)
    share = fixed_share(costs)
    if share is not None:
        attributes[names.FIXED_SHARE] = share


def costs_of(record: Call) -> dict[Cost, int]:
    """`record.cost_ns` of all five at once, which takes a fifth of the time."""
    costs = _NO_COSTS.copy()
    costs[record.unattributed_cost] = record.unattributed_ns
    for phase, nanoseconds in record.exclusive_ns.items():
        costs[_COST_OF[phase]] += nanoseconds
    return costs


def fixed_share(costs: Mapping[Cost, int]) -> float | None:
    """`Call.fixed_share`, from costs that are known already."""
    fixed, generation = costs[_FIXED], costs[_GENERATION]
    if costs[_UNSPLIT] > 0 or fixed + generation == 0:
        return None
    return fixed / (fixed + generation)


def phase_attributes(phase: OpenPhase) -> Attributes:
    """What the span of a phase, detail or stall says."""
    attributes = _PHASE_TEMPLATES[phase.phase, phase.origin].copy()
    if phase.request is not None:
        attributes[names.REQUEST_INDEX] = phase.request
    if phase.is_detail:
        attributes[names.DETAIL] = True
    elif phase.phase is _RETRIEVAL:
        attributes[names.OPERATION_NAME] = names.RETRIEVAL_OPERATION
    if phase.is_stall:
        attributes[names.STALL] = True
    if phase.attributes:
        attributes.update(exportable(phase.attributes))
    return attributes


def job_attributes(job: OpenJob) -> Attributes:
    """What the span of a job says; chunks and waves once it is over."""
    attributes: Attributes = {names.JOB_NAME: job.name}
    if job.workers is not None:
        attributes[names.JOB_WORKERS] = job.workers
    if job.chunks:
        attributes[names.JOB_CHUNKS] = job.chunks
        waves = job.waves
        if waves is not None:
            attributes[names.JOB_WAVES] = waves
    return attributes
