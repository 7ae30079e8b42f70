from __future__ import annotations

import pytest

from dashboards.prometheus_names import label_name, metric_name
from llmphases import conventions as names


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (names.PHASE_DURATION, "llmphases_phase_duration_seconds"),
        (names.CALL_FIXED_SHARE, "llmphases_call_fixed_share"),
        (names.CALL_PAID, "llmphases_call_paid_seconds_total"),
        (names.PROCESS_CPU, "llmphases_process_cpu_time_seconds_total"),
        (names.PROCESS_MEMORY, "llmphases_process_memory_peak_bytes"),
        (names.CALLS_ACTIVE, "llmphases_calls_active"),
        (names.RETRIES_TOTAL, "llmphases_retries_total"),
        (names.OLD_TOKEN_USAGE, "gen_ai_client_token_usage"),
        (names.INFERENCE_FIRST_CHUNK, "gen_ai_client_inference_time_to_first_chunk_seconds"),
    ],
)
def test_a_name_has_its_unit_and_a_counter_is_a_total(metric, expected):
    """What the real server calls each of them is seen in tests/backends/test_panels.py."""
    assert metric_name(metric) == expected


def test_dots_of_labels_are_underscores():
    assert label_name(names.PROCESS_EXECUTABLE_NAME) == "process_executable_name"
