"""Times that servers report."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from llmphases.adapters.reported import reported_of
from llmphases.recorder.reported import ReportedTimes


@pytest.mark.parametrize(
    ("raw", "queue", "prefill", "generation"),
    [
        (
            {"timings": {"cache_n": 236, "prompt_ms": 30.958, "predicted_ms": 661.064}},
            None, 30_958_000, 661_064_000,
        ),
        ({"total_duration": 10, "prompt_eval_duration": 3, "eval_duration": 6}, None, 3, 6),
        (
            {"metrics": {"queue_time_ms": 1, "time_to_first_token_ms": 2, "generation_time_ms": 3}},
            1_000_000, 2_000_000, 3_000_000,
        ),
        (
            {"usage": {"queue_time": 0.02, "prompt_time": 0.001, "completion_time": 0.08}},
            20_000_000, 1_000_000, 80_000_000,
        ),
        (
            {"time_info": {"queue_time": 0.5, "prompt_time": 0.25, "completion_time": 1}},
            500_000_000, 250_000_000, 1_000_000_000,
        ),
    ],
)  # fmt: skip
def test_times_of_a_server(raw, queue, prefill, generation):
    for source in (raw, SimpleNamespace(**raw)):
        times = reported_of(source)
        assert (times.queue_ns, times.prefill_ns, times.generation_ns) == (
            queue, prefill, generation,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (
            {
                "amazon-bedrock-invocationMetrics": {
                    "invocationLatency": 659,
                    "firstByteLatency": 506,
                }
            },
            {"invocationLatency": 659, "firstByteLatency": 506},
        ),
        ({"meta_info": {"e2e_latency": 0.7}}, {"e2e_latency": 0.7}),
        (
            {"perf_metrics": {"server-time-to-first-token": "0.25"}},
            {"server-time-to-first-token": "0.25"},
        ),
    ],
)
def test_numbers_without_a_sure_meaning_are_kept_raw_and_become_no_times(raw, kept):
    assert reported_of(raw) == ReportedTimes(raw=kept)


@pytest.mark.parametrize("odd", ["x", -1.0, True, float("inf"), float("nan"), 1e300, 2**70, None])
def test_what_is_no_duration_is_left_out(odd):
    times = reported_of({"timings": {"prompt_ms": odd, "predicted_ms": 5}})
    assert (times.prefill_ns, times.generation_ns) == (None, 5_000_000)


@pytest.mark.parametrize("odd", [None, {}, [], "no", 5, {"timings": None}, {"metrics": {"x": 1}}])
def test_without_a_report_there_are_no_times(odd):
    assert reported_of(odd) is None


NAMES = st.sampled_from(
    [
        "timings", "metrics", "usage", "x_groq", "time_info", "predicted_ms", "prompt_ms",
        "total_duration", "eval_duration", "completion_time", "latencyMs", "generation_time_ms",
    ]
)  # fmt: skip
ODD = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)


@given(st.recursive(ODD, lambda inner: st.lists(inner) | st.dictionaries(NAMES, inner)))
def test_reading_times_never_raises(raw):
    times = reported_of(raw)
    assert times is None or times.raw
