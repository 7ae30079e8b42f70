"""By how much counters grew, as the dashboards ask it: judged by Prometheus itself."""

from __future__ import annotations

import subprocess

import pytest
import yaml

from dashboards import queries as q
from llmphases import conventions as names

# A push a minute; the window is the hour that ends at minute 150.
CASES = {
    "one push within": ("_x120 5", 5),
    "begun within": ("_x100 5 6 7 8x30", 8),
    "begun before": ("10x100 12x60", 2),
    "ended before": ("10x60", None),
    "quiet since before": ("10x160", 0),
    "silent for less than an hour": ("10x60 _x50 12x60", 2),
    # Nobody knows how much of it is new: all that it ever counted.
    "silent for the hour before the window": ("10x20 _x90 12x60", 12),
}


@pytest.mark.parametrize(("values", "grown"), CASES.values(), ids=list(CASES))
def test_a_counter_grew_by_what_came_in_the_window(built, tmp_path, values, grown):
    series = q.series(names.RETRIES_TOTAL, 'job="x"')
    expected = [] if grown is None else [{"labels": "{}", "value": grown}]
    asked = {
        "expr": q.grown(names.RETRIES_TOTAL, 'job="x"', "1h"),
        "eval_time": "150m",
        "exp_samples": expected,
    }
    test = {
        "interval": "1m",
        "input_series": [{"series": series, "values": values}],
        "promql_expr_test": [asked],
    }
    file = tmp_path / "growth.yml"
    file.write_text(yaml.safe_dump({"rule_files": [], "tests": [test]}), "utf-8")
    done = subprocess.run(
        [str(built("promtool")), "test", "rules", str(file)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr


def test_where_nothing_began_anew_increase_is_matched_with_nothing():
    """Of thousands of series, the matching is what takes long."""
    begun = q.growth(names.RETRIES_TOTAL, 'job="x"', "1h")
    assert begun.count("increase(") == 1
    assert begun.count(" and resets(") == 1
