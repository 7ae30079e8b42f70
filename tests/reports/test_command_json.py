from __future__ import annotations

import json

import pytest

from llmphases.reports.command_json import command_json
from reports.sample_commands import burst, measured, run


def told(*runs, **more):
    text = command_json(measured(*runs, **more))
    assert "\n" not in text
    return json.loads(text)


def test_one_run():
    found = told(run(), exit_code=3)
    assert (found["name"], found["exit_code"]) == ("claude", 3)
    assert (found["together"], found["times_as_long"]) == (None, None)
    alone = found["alone"]
    assert (alone["runs"], alone["failed"], alone["workers"]) == (1, 0, 1)
    assert alone["duration_s"] == {"median": 7.5, "least": 7.5, "most": 7.5, "count": 1}
    assert alone["phases_s"]["process_startup"]["median"] == 1.2
    assert alone["first_token_after_s"]["median"] == 2.0
    assert alone["fixed_share"]["median"] == pytest.approx(0.6)
    assert alone["memory_peak_bytes"]["median"] == 150 * 2**20
    assert alone["cpu_share"]["median"] == pytest.approx(0.1)
    assert alone["usage"]["output_tokens"] == 80
    assert found["meaning"].startswith("Each call pays")


def test_what_was_not_seen_is_null_or_absent():
    alone = told(burst())["alone"]
    assert alone["fixed_share"] is alone["first_token_after_s"] is alone["usage"] is None
    assert "generation" not in alone["phases_s"]


def test_company():
    found = told(run(), together=[run(1.5)] * 4)
    assert found["together"]["workers"] == 4
    assert found["times_as_long"]["duration"] == pytest.approx(1.5)
    assert found["times_as_long"]["process_startup"] == pytest.approx(1.5)


def test_company_in_which_all_failed_is_compared_with_nothing():
    found = told(run(), together=[run(0.1, error_type="SIGINT")] * 4)
    assert found["together"]["failed"] == 4
    assert found["times_as_long"] is None


def test_no_run_at_all():
    assert told()["alone"]["duration_s"] is None
