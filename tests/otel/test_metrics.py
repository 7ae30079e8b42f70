"""Metrics as the observer records them, through the real SDK."""

from __future__ import annotations

from typing import Any

import pytest
from opentelemetry import context as otel_context
from opentelemetry.context import Context
from opentelemetry.metrics import NoOpMeterProvider
from opentelemetry.sdk.trace import TracerProvider

from llmphases import conventions as names
from llmphases.calls import ProcessUse
from llmphases.observers import Asked
from llmphases.otel.metrics import MetricsObserver, is_timeout
from llmphases.phases import Cost, Phase
from llmphases.recorder.process_use import process_attributes
from otel.metric_lab import Lab
from otel.pieces import ended, open_call, open_job, open_phase, record_of


@pytest.fixture
def lab() -> Lab:
    return Lab()


_BASE = {names.CALL_NAME: "place_boxes"}


def test_each_phase_of_a_call_is_one_sample_of_its_exclusive_time(lab: Lab):
    times = {Phase.TIME_TO_FIRST_TOKEN: 1_000_000_000, Phase.GENERATION: 2_000_000_000}
    lab.call(duration_ns=3_000_000_000, exclusive_ns=times, outside_inner_ns=times)
    assert lab.values(names.PHASE_DURATION) == [
        ({**_BASE, names.PHASE: "time_to_first_token", names.COST: "fixed"}, 1.0),
        ({**_BASE, names.PHASE: "generation", names.COST: "generation"}, 2.0),
    ]


def test_what_inner_calls_cover_is_no_sample_of_the_outer_one(lab: Lab):
    lab.call(
        duration_ns=5_000_000_000,
        exclusive_ns={Phase.GENERATION: 2_000_000_000, Phase.RETRIEVAL: 1_000_000_000},
        outside_inner_ns={Phase.GENERATION: 0, Phase.RETRIEVAL: 1_000_000_000},
    )
    assert [labels[names.PHASE] for labels, _ in lab.values(names.PHASE_DURATION)] == ["retrieval"]


def test_call_metrics_tell_nested_calls_apart(lab: Lab):
    lab.call(duration_ns=2_000_000_000)
    lab.call(duration_ns=1_000_000_000, nested=True, error_type="ValueError")
    assert lab.values(names.CALL_DURATION) == [
        ({**_BASE, names.CALL_NESTED: False}, 2.0),
        ({**_BASE, names.CALL_NESTED: True, names.ERROR_TYPE: "ValueError"}, 1.0),
    ]


def test_first_token_and_share_are_recorded_only_where_they_are_known(lab: Lab):
    lab.call()
    assert lab.values(names.CALL_FIRST_TOKEN) == lab.values(names.CALL_FIXED_SHARE) == []
    lab.call(
        open_call(),
        duration_ns=4_000_000_000,
        exclusive_ns={Phase.TIME_TO_FIRST_TOKEN: 1_000_000_000, Phase.GENERATION: 3_000_000_000},
        unattributed_cost=Cost.FIXED,
        first_token_ns=1_000_000_000,
        provider="openai",
        request_model="m",
        error_type="ValueError",
    )
    labels = {
        **_BASE,
        names.PROVIDER_NAME: "openai",
        names.REQUEST_MODEL: "m",
        names.CALL_NESTED: False,
    }
    assert lab.values(names.CALL_FIRST_TOKEN) == [(labels, 1.0)]
    assert lab.values(names.CALL_FIXED_SHARE) == [(labels, 0.25)]
    assert lab.values(names.CALL_PAID) == [
        ({**labels, names.COST: "fixed"}, 1.0),
        ({**labels, names.COST: "generation"}, 3.0),
    ]


def test_what_no_phase_covers_is_paid_as_fixed_cost_too(lab: Lab):
    lab.call(
        duration_ns=4_000_000_000,
        exclusive_ns={Phase.TIME_TO_FIRST_TOKEN: 1_000_000_000, Phase.GENERATION: 2_000_000_000},
        unattributed_cost=Cost.FIXED,
    )
    assert [(labels[names.COST], paid) for labels, paid in lab.values(names.CALL_PAID)] == [
        ("fixed", 2.0),
        ("generation", 2.0),
    ]


def test_a_call_that_cannot_be_split_is_in_no_sum_of_what_was_paid(lab: Lab):
    lab.call(duration_ns=2_000_000_000, exclusive_ns={Phase.INFERENCE: 2_000_000_000})
    assert lab.values(names.CALL_PAID) == []


def test_boundaries_suit_calls_of_milliseconds_and_of_minutes(lab: Lab):
    lab.call(requests=1, outside_inner_ns={Phase.INFERENCE: 1}, first_token_ns=1)
    points = lab.points()
    for metric in (names.PHASE_DURATION, names.CALL_DURATION, names.CALL_FIRST_TOKEN):
        assert points[metric.name][0].explicit_bounds == names.SECONDS
    assert points[names.INFERENCE_DURATION.name][0].explicit_bounds == names.GEN_AI_SECONDS


def test_open_calls_are_counted_while_they_are_open(lab: Lab):
    call = open_call(job=open_job())
    lab.observer.call_started(call)
    assert lab.values(names.CALLS_ACTIVE) == [({names.JOB_NAME: "boxes"}, 1)]
    call.name = "renamed"
    lab.observer.call_ended(call, record_of(call))
    assert lab.values(names.CALLS_ACTIVE) == [({names.JOB_NAME: "boxes"}, 0)]


def test_each_child_process_is_a_sample_by_its_executable(lab: Lab):
    call = open_call()
    for phase, use in (
        (Phase.PROCESS_STARTUP, ProcessUse(executable="claude", pid=7, cpu_ns=10**9, wall_ns=1)),
        (Phase.INFERENCE, ProcessUse(executable="claude", pid=8, cpu_ns=0, memory_peak=2**28)),
        (Phase.INFERENCE, ProcessUse(pid=9)),
    ):
        child = open_phase(phase, parent=call, call=call, attributes=process_attributes(use))
        lab.observer.phase_ended(ended(child, 5))
    claude = {names.PROCESS_EXECUTABLE_NAME: "claude"}
    assert lab.values(names.PROCESS_MEMORY) == [(claude, 2**28)]
    assert lab.values(names.PROCESS_CPU) == [(claude, 1.0)]
    (memory,) = lab.points()[names.PROCESS_MEMORY.name]
    assert memory.explicit_bounds[0] == 16 * 2**20
    assert memory.explicit_bounds[-1] == 64 * 2**30


def test_a_child_is_a_sample_of_its_start_up_and_of_its_end_by_exit_code(lab: Lab):
    call = open_call()
    use = ProcessUse(executable="claude", pid=7, wall_ns=3 * 10**9, exit_code=0)
    lab.observer.phase_written(
        ended(
            open_phase(
                Phase.PROCESS_STARTUP, parent=call, call=call, attributes=process_attributes(use)
            ),
            2_000_000,
        )
    )
    killed = ProcessUse(executable="claude", pid=8, wall_ns=10**9, exit_code=-9)
    lab.observer.phase_written(
        ended(
            open_phase(
                Phase.INFERENCE, parent=call, call=call, attributes=process_attributes(killed)
            ),
            1_000_000,
        )
    )
    claude = {names.PROCESS_EXECUTABLE_NAME: "claude"}
    assert lab.values(names.PROCESS_STARTUP) == [(claude, 2.0)]
    assert lab.values(names.PROCESS_WALL) == [
        ({**claude, names.PROCESS_EXIT_CODE: 0}, 3.0),
        ({**claude, names.PROCESS_EXIT_CODE: -9}, 1.0),
    ]


def test_each_metric_is_the_instrument_that_its_description_says(lab: Lab):
    """What it is called in Prometheus hangs on it."""
    created: dict[str, str] = {}

    class Meters(NoOpMeterProvider):
        def get_meter(self, *args: Any, **options: Any) -> Any:
            return self

        def __getattr__(self, create: str) -> Any:
            return lambda name, **_: created.setdefault(name, create.removeprefix("create_"))

    for old_names in (False, True):
        MetricsObserver(Meters(), old_names=old_names)
    described = [value for value in vars(names).values() if isinstance(value, names.Metric)]
    assert set(created) == {metric.name for metric in described}
    assert [m.name for m in described if m.is_counter != (created[m.name] == "counter")] == []
    assert [
        m.name for m in described if (m.boundaries is not None) != (created[m.name] == "histogram")
    ] == []


def test_a_job_reports_workers_chunks_and_waves(lab: Lab):
    job = open_job(workers=4)
    lab.observer.job_started(job)
    job.chunks = 9
    lab.observer.job_ended(ended(job, 9))
    points = lab.points()  # once: old SDKs tell of a gauge only if it was set since the last time
    told = {
        name: [(dict(point.attributes), point.value) for point in points[name]]
        for name in points
        if name.startswith("llmphases.job.")
    }
    of_job = {names.JOB_NAME: "boxes"}
    assert told == {
        names.JOB_WORKERS_GAUGE.name: [(of_job, 4)],
        names.JOB_CHUNKS_GAUGE.name: [(of_job, 9)],
        names.JOB_WAVES_GAUGE.name: [(of_job, 3)],
    }


def test_a_jobs_queue_wait_is_a_sample_although_no_call_has_it(lab: Lab):
    job = open_job()
    lab.observer.phase_written(ended(open_phase(Phase.QUEUE_WAIT, 0, job, job=job), 2_000_000))
    lab.observer.phase_ended(ended(open_phase(Phase.RETRIEVAL, 0), 2_000_000))
    labels = {names.PHASE: "queue_wait", names.COST: "fixed", names.JOB_NAME: "boxes"}
    assert lab.values(names.PHASE_DURATION) == [(labels, 2.0)]


def test_retries_are_counted_with_their_reason(lab: Lab):
    asked = (
        Asked(1, None, "RateLimitError", is_resent=True),
        Asked(1, None, "TimeoutError", is_resent=True),
        Asked(1, None, "RateLimitError", is_resent=True),
        Asked(1, None, "ValueError", is_resent=False),
    )
    lab.call(open_call(asked=asked), requests=4, retries=3)
    assert lab.values(names.RETRIES_TOTAL) == [
        ({**_BASE, names.METRIC_REASON: "RateLimitError"}, 2),
        ({**_BASE, names.METRIC_REASON: "TimeoutError"}, 1),
    ]


def test_time_outs_are_counted(lab: Lab):
    lab.call(error_type="APITimeoutError")
    lab.call(error_type="ValueError")
    labels = {**_BASE, names.METRIC_REASON: "APITimeoutError"}
    assert lab.values(names.TIMEOUTS_TOTAL) == [(labels, 1)]


@pytest.mark.parametrize(
    ("asked", "error_type", "counted"),
    [
        (["ReadTimeout", "503", "ReadTimeout", None], None, {"ReadTimeout": 2}),
        (["ReadTimeout", "ReadTimeout"], "APITimeoutError", {"ReadTimeout": 2}),
        (["ReadTimeout", "503"], "TimeoutError", {"ReadTimeout": 1, "TimeoutError": 1}),
        (["ReadTimeout", "503"], "InternalServerError", {"ReadTimeout": 1}),
        (["TimeoutError"], "TimeoutError", {"TimeoutError": 1}),
        ([None], "TimeoutError", {"TimeoutError": 1}),
        ([None], None, {}),
    ],
)
def test_time_outs_of_requests_are_counted_also_if_they_were_got_over(
    lab: Lab, asked: list[str | None], error_type: str | None, counted: dict[str, int]
):
    requests = tuple(Asked(1, None, error, is_resent=False) for error in asked)
    lab.call(open_call(asked=requests), error_type=error_type)
    found = {labels[names.METRIC_REASON]: n for labels, n in lab.values(names.TIMEOUTS_TOTAL)}
    assert found == counted


@pytest.mark.parametrize(
    ("error_type", "expected"),
    [
        ("TimeoutError", True),
        ("openai.APITimeoutError", True),
        ("ReadTimeout", True),
        ("subprocess.TimeoutExpired", True),
        ("timeout", True),
        ("timeout_pkg.Refused", False),
        ("ValueError", False),
        ("504", False),
    ],
)
def test_a_time_out_is_known_by_its_name(error_type: str, expected: bool):
    assert is_timeout(error_type) is expected


def test_cache_look_ups_are_counted_by_result(lab: Lab):
    lab.call(cache_result="hit")
    lab.call(cache_result="miss")
    assert {labels[names.CACHE_RESULT] for labels, _ in lab.values(names.CACHE_REQUESTS)} == {
        "hit",
        "miss",
    }


def test_exemplars_link_to_the_calls_own_span(lab: Lab):
    span = TracerProvider(shutdown_on_exit=False).get_tracer("t").start_span("call")
    lab.call(open_call(state=span))
    (exemplar,) = lab.points()[names.CALL_DURATION.name][0].exemplars
    assert exemplar.span_id == span.get_span_context().span_id


def test_nothing_is_recorded_where_instrumentation_is_suppressed(lab: Lab):
    base = otel_context.set_value("suppress_instrumentation", True, Context())
    lab.call(open_call(base=base), requests=1, cache_result="hit")
    assert lab.points() == {}


def test_names_made_up_per_call_do_not_fill_the_memory(lab: Lab):
    for number in range(2500):
        lab.call(open_call(f"call {number}"))
    assert len(lab.observer._labels) <= 1000
