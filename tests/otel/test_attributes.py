"""What spans say: pure functions."""

from __future__ import annotations

import datetime
import decimal
import enum
import logging
import pathlib

import hypothesis.strategies as st
import pytest
from hypothesis import given
from opentelemetry.sdk.trace import TracerProvider

from any_calls import calls
from llmphases import conventions as names
from llmphases.calls import Call, Ended, Usage
from llmphases.otel.attributes import (
    call_attributes,
    costs_of,
    exportable,
    fixed_share,
    job_attributes,
    phase_attributes,
    seconds,
)
from llmphases.phases import Cost, Phase
from otel.pieces import open_call, open_job, open_phase, record_of

_DAYS_26 = 2**51 - 1


@given(st.integers(0, _DAYS_26))
def test_seconds_give_back_the_same_nanoseconds(nanoseconds: int):
    assert round(seconds(nanoseconds) * 1e9) == nanoseconds


@given(
    st.dictionaries(st.sampled_from(Phase), st.integers(0, 10**9)),
    st.integers(0, 10**9),
    st.sampled_from([Cost.FIXED, Cost.UNSPLIT]),
)
def test_the_quick_sums_are_those_of_the_record(
    exclusive: dict[Phase, int], unattributed: int, cost: Cost
):
    record = record_of(
        open_call(), 0, exclusive_ns=exclusive, unattributed_ns=unattributed, unattributed_cost=cost
    )
    costs = costs_of(record)
    assert costs == {one: record.cost_ns(one) for one in Cost}
    assert fixed_share(costs) == record.fixed_share


def test_all_costs_and_the_unattributed_time_are_always_there():
    attributes = call_attributes(record_of(open_call(), 5_000_000))
    durations = {names.cost_duration(cost): 0.0 for cost in Cost}
    durations |= {names.cost_duration(Cost.UNSPLIT): 0.005, names.UNATTRIBUTED_DURATION: 0.005}
    assert {key: attributes[key] for key in durations} == durations


def test_what_is_not_known_is_not_said():
    attributes = call_attributes(record_of(open_call()))
    assert None not in attributes.values()
    assert set(attributes) == {
        names.OPERATION_NAME,
        names.CALL_NAME,
        names.CALL_NESTED,
        names.UNATTRIBUTED_DURATION,
        *(names.cost_duration(cost) for cost in Cost),
    }


def test_everything_known_of_a_call_is_said():
    record = Call(
        name="place_boxes",
        start_unix_ns=0,
        duration_ns=4_000_000_000,
        exclusive_ns={Phase.TIME_TO_FIRST_TOKEN: 1_500_000_000, Phase.GENERATION: 2_000_000_000},
        unattributed_ns=500_000_000,
        unattributed_cost=Cost.FIXED,
        provider="openai",
        request_model="m",
        response_model="m-1",
        stream=True,
        usage=Usage(input_tokens=0, output_tokens=7, reasoning_output_tokens=3),
        requests=2,
        retries=1,
        chunks=9,
        first_chunk_ns=1_400_000_000,
        first_token_ns=1_600_000_000,
        first_reasoning_ns=1_600_000_000,
        first_answer_ns=1_700_000_000,
        first_token_rule="init",
        units=3,
        batch_size=8,
        cache_result="miss",
        queued_ns=250_000_000,
        nested=True,
        job="boxes",
        ended=Ended.ERROR,
        error_type="TimeoutError",
        reported={"prompt_ms": 12.5},
        reported_trusted=True,
        attributes={"video": "v1", "boxes": (1, 2)},
    )
    assert call_attributes(record) == {
        "video": "v1",
        "boxes": (1, 2),
        names.OPERATION_NAME: "chat",
        names.PROVIDER_NAME: "openai",
        names.REQUEST_MODEL: "m",
        names.RESPONSE_MODEL: "m-1",
        names.REQUEST_STREAM: True,
        names.TIME_TO_FIRST_CHUNK: 1.4,
        names.INPUT_TOKENS: 0,
        names.OUTPUT_TOKENS: 7,
        names.REASONING_OUTPUT_TOKENS: 3,
        names.CALL_NAME: "place_boxes",
        names.CALL_NESTED: True,
        names.JOB_NAME: "boxes",
        "llmphases.fixed.duration": 2.0,
        "llmphases.generation.duration": 2.0,
        "llmphases.delivery.duration": 0.0,
        "llmphases.tool.duration": 0.0,
        "llmphases.unsplit.duration": 0.0,
        "llmphases.unattributed.duration": 0.5,
        "llmphases.phase.time_to_first_token.duration": 1.5,
        "llmphases.phase.generation.duration": 2.0,
        names.FIXED_SHARE: 0.5,
        names.CALL_TIME_TO_FIRST_TOKEN: 1.6,
        names.TIME_TO_FIRST_REASONING_TOKEN: 1.6,
        names.TIME_TO_FIRST_ANSWER_TOKEN: 1.7,
        names.QUEUED_DURATION: 0.25,
        names.CHUNKS: 9,
        names.REQUESTS: 2,
        names.RETRIES: 1,
        names.UNITS: 3,
        names.CACHE_RESULT: "miss",
        names.BATCH_SIZE: 8,
        names.STREAM_ENDED: "error",
        names.FIRST_TOKEN_RULE: "init",
        names.ERROR_TYPE: "TimeoutError",
        "llmphases.reported.prompt_ms": 12.5,
        names.REPORTED_TRUSTED: True,
    }


def test_a_call_without_a_stream_has_no_time_to_first_chunk():
    record = record_of(open_call(), first_chunk_ns=1000, requests=1)
    assert names.TIME_TO_FIRST_CHUNK not in call_attributes(record)


class _Colour(enum.Enum):
    RED = 1


_ODD = {
    "none": None,
    "sentinel": object(),
    "enum": _Colour.RED,
    "decimal": decimal.Decimal("1.5"),
    "moment": datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC),
    "path": pathlib.Path("/x"),
    "nested": {"a": {"b": 1}},
    "set": {1},
    "mixed": (1, "a"),
    "huge": 2**70,
    "bytes": b"x",
}


def test_odd_values_of_a_program_are_left_out_and_never_printed():
    """RC-052"""
    fine = {"text": "t", "yes": True, "n": 1, "x": 0.5, "many": ("a", "b"), "empty": ()}
    assert exportable({**_ODD, **fine}) == fine


def test_odd_values_leave_no_word_in_the_log(caplog: pytest.LogCaptureFixture):
    """RC-052"""
    caplog.set_level(logging.DEBUG)
    record = record_of(open_call(), attributes=_ODD, reported=_ODD)
    phase = open_phase(Phase.RETRIEVAL, attributes=dict(_ODD))
    tracer = TracerProvider(shutdown_on_exit=False).get_tracer("t")
    tracer.start_span("x", attributes=phase_attributes(phase)).set_attributes(
        call_attributes(record)
    )
    assert caplog.records == []


def test_only_retrieval_itself_carries_a_gen_ai_operation():
    assert phase_attributes(open_phase(Phase.RETRIEVAL))[names.OPERATION_NAME] == "retrieval"
    rerank = open_phase(Phase.RETRIEVAL, name="rerank", is_detail=True)
    assert names.OPERATION_NAME not in phase_attributes(rerank)
    assert names.OPERATION_NAME not in phase_attributes(open_phase(Phase.PROMPT_BUILD))


def test_a_phase_says_its_cost_origin_and_request():
    phase = open_phase(Phase.GENERATION, request=1, attributes={"k": "v"})
    assert phase_attributes(phase) == {
        names.PHASE: "generation",
        names.COST: "generation",
        names.ORIGIN: "measured",
        names.REQUEST_INDEX: 1,
        "k": "v",
    }


def test_details_and_stalls_are_marked_only_where_they_are():
    stall = open_phase(Phase.TRANSMISSION, is_stall=True)
    detail = open_phase(Phase.TIME_TO_FIRST_TOKEN, name="connect", is_detail=True)
    assert phase_attributes(stall)[names.STALL] is True
    assert names.DETAIL not in phase_attributes(stall)
    assert phase_attributes(detail)[names.DETAIL] is True
    assert names.STALL not in phase_attributes(detail)


def test_a_job_says_its_waves_once_it_has_chunks():
    job = open_job(workers=4)
    assert names.JOB_WAVES not in job_attributes(job)
    job.chunks = 9
    assert job_attributes(job) == {
        names.JOB_NAME: "boxes",
        names.JOB_WORKERS: 4,
        names.JOB_CHUNKS: 9,
        names.JOB_WAVES: 3,
    }


@given(calls("name"))
def test_what_a_call_writes_under_a_name_that_is_not_ours_is_the_programs(call: Call):
    written = call_attributes(call)
    assert {key for key in written if not names.is_ours(key)} == set(call.attributes)
