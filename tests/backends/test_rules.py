"""The alert rules, judged by Prometheus itself: when they fire, and when they do not."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest
import yaml

from backends.servers import ROOT, get, until
from dashboards.alerts import ALERTS
from dashboards.prometheus_names import metric_name
from llmphases import conventions as names

RULES = ROOT / "deploy" / "prometheus" / "rules" / "llmphases.yml"
FIRST, SHARE = metric_name(names.CALL_FIRST_TOKEN), metric_name(names.CALL_PAID)
RETRIES, CALLS = metric_name(names.RETRIES_TOTAL), metric_name(names.CALL_DURATION)
OF = 'job="boxes", llmphases_call_name="place_boxes"'


def late(calls: float, in_time: float, le: str = "10") -> dict[str, float]:
    """So many calls a minute, and how many of them are in time."""
    return {f"{FIRST}_count{{{OF}}}": calls, f'{FIRST}_bucket{{{OF}, le="{le}"}}': in_time}


def paid(fixed_s: float, generation_s: float, nested: str = "false") -> dict[str, float]:
    """So many seconds a minute."""
    more = f'{OF}, llmphases_call_nested="{nested}"'
    return {
        f'{SHARE}{{{more}, llmphases_cost="fixed"}}': fixed_s,
        f'{SHARE}{{{more}, llmphases_cost="generation"}}': generation_s,
    }


def retried(retries: float, calls: float) -> dict[str, float]:
    return {f"{RETRIES}{{{OF}}}": retries, f"{CALLS}_count{{{OF}}}": calls}


CASES = [
    ("LlmFirstTokenLate", late(1, 0.9), True),
    ("LlmFirstTokenLate", late(1, 0.9, le="10.0"), True),
    ("LlmFirstTokenLate", late(1, 0.97), False),
    ("LlmFirstTokenLate", late(1, 0.95), False),  # one of twenty is allowed, and no more than that
    ("LlmFirstTokenLate", late(1, 0.94), True),
    ("LlmFirstTokenLate", late(0.2, 0), False),  # 12 calls an hour: too few to judge by
    ("LlmFixedCostHigh", paid(34, 1), True),
    ("LlmFixedCostHigh", paid(34, 10), False),
    ("LlmFixedCostHigh", paid(5, 0.1), False),  # five minutes an hour: nothing to be saved
    ("LlmFixedCostHigh", paid(34, 1, nested="true"), False),  # in the sums of the outer call
    ("LlmRetriesMany", retried(0.2, 1), True),
    ("LlmRetriesMany", retried(0.05, 1), False),
    ("LlmRetriesMany", retried(0.05, 0.1), False),  # three
]


@pytest.fixture
def promtool(built):
    def run(*arguments: object) -> str:
        done = subprocess.run(
            [str(built("promtool")), *map(str, arguments)],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_prometheus_has_nothing_to_complain_of(promtool):
    assert f"{len(ALERTS)} rules found" in promtool("check", "rules", "--lint=all", RULES)


@pytest.mark.parametrize(
    ("name", "series", "fires"), CASES, ids=[f"{name}-{n}" for n, (name, *_) in enumerate(CASES)]
)
def test_an_alert_fires_when_it_should_and_only_then(promtool, tmp_path, name, series, fires):
    (alert,) = (alert for alert in ALERTS if alert.name == name)
    expected = {
        "exp_labels": {"severity": "warning", "job": "boxes", "llmphases_call_name": "place_boxes"},
        "exp_annotations": {
            "summary": said(alert.summary), "description": alert.advice,
            "dashboard": alert.board.uid,
        },
    }  # fmt: skip
    test: dict[str, Any] = {
        "interval": "1m",
        "input_series": [
            {"series": each, "values": f"0+{growth:g}x120"} for each, growth in series.items()
        ],
        "alert_rule_test": [
            {"eval_time": "90m", "alertname": name, "exp_alerts": [expected] if fires else []},
        ],
    }
    file = tmp_path / "rules_test.yml"
    file.write_text(yaml.safe_dump({"rule_files": [str(RULES)], "tests": [test]}), "utf-8")
    promtool("test", "rules", file)


def said(summary: str) -> str:
    for label, value in (("llmphases_call_name", "place_boxes"), ("job", "boxes")):
        summary = summary.replace(f"{{{{ $labels.{label} }}}}", value)
    assert "$" not in summary
    return summary


def test_the_server_has_loaded_them_and_can_evaluate_them(stack):
    def rules() -> list[dict[str, Any]]:
        groups = get(f"{stack.prometheus_url}/api/v1/rules")["data"]["groups"]
        found = [rule for group in groups for rule in group["rules"]]
        return found if found and all(rule["health"] != "unknown" for rule in found) else []

    found = until(rules, "rules that have been evaluated", timeout_s=120)
    assert [rule["name"] for rule in found] == [alert.name for alert in ALERTS]
    assert {rule["health"] for rule in found} == {"ok"}
