from __future__ import annotations

import json

from llmphases.analysis.split import split
from llmphases.calls import ProcessUse, Usage
from llmphases.reports.as_json import as_json
from reports.sample_groups import SECOND, call

STATISTICS = {"p50", "p95", "mean", "total", "count"}
OF_ALL = {
    "calls", "errors", "duration_s", "time_to_first_token_s", "fixed_s", "generation_s",
    "delivery_s", "tool_s", "unsplit_s", "fixed_share", "phases",
}  # fmt: skip


def written(*calls):
    return json.loads(as_json(split(calls)))


def test_the_shape_is_the_one_that_programs_read():
    document = written(
        call("boxes", prompt_build=1, time_to_first_token=67, generation=1.9,
             first_token_ns=68 * SECOND)
    )  # fmt: skip
    assert set(document) >= {"calls", "groups", "totals"}
    assert document["calls"] == 1
    assert document["runs"] is None
    (group,) = document["groups"]
    assert set(group) >= OF_ALL | {"name"}
    assert set(document["totals"]) >= OF_ALL
    assert set(group["duration_s"]) == STATISTICS
    assert group["name"] == "boxes"
    assert group["fixed_s"]["total"] == 68.0
    assert group["generation_s"]["mean"] == 1.9
    assert group["time_to_first_token_s"]["p50"] == 68.0
    assert group["unsplit_s"]["total"] == 0.0
    assert group["fixed_share"] == 68 / 69.9
    assert set(group["phases"]) == {"prompt_build", "time_to_first_token", "generation"}
    assert group["phases"]["prompt_build"] == {
        "p50": 1.0, "p95": 1.0, "mean": 1.0, "total": 1.0, "count": 1,
    }  # fmt: skip


def test_what_was_not_seen_is_null():
    (group,) = written(call(inference=2))["groups"]
    assert group["time_to_first_token_s"] is None
    assert group["fixed_share"] is None
    assert group["tokens_per_second"] is None
    assert group["usage"] is None
    assert group["queued_s"] is None
    assert group["processes"] is None


def test_what_was_said_is_there():
    (group,) = written(
        call(generation=1, usage=Usage(output_tokens=5), requests=2, retries=1,
             queued_ns=SECOND, error_type="X", nested=True, unattributed=1,
             process=ProcessUse(pid=1, cpu_ns=1, wall_ns=4, memory_peak=9))
    )["groups"]  # fmt: skip
    assert group["usage"]["output_tokens"] == 5
    assert (group["requests"], group["retries"], group["nested"]) == (2, 1, 1)
    assert group["queued_s"]["total"] == 1.0
    assert group["error_types"] == {"X": 1}
    assert group["processes"] == {
        "calls": 1, "memory_p50": 9.0, "memory_max": 9, "cpu_share": 0.25, "survivors": 0,
    }  # fmt: skip
    assert group["unattributed_s"]["fixed"]["total"] == 1.0


def test_no_calls_keep_the_shape():
    document = written()
    assert document["groups"] == []
    assert set(document["totals"]) >= OF_ALL
    assert document["totals"]["duration_s"] is None
