from __future__ import annotations

import json
import re

import pytest
import yaml

from dashboards import targets
from dashboards.alerts import ALERTS, as_grafana_provisioning, as_prometheus_rules
from dashboards.build import ROOT
from dashboards.prometheus_names import metric_name
from llmphases import conventions as names


@pytest.fixture
def prometheus_rules():
    (group,) = yaml.safe_load(as_prometheus_rules())["groups"]
    return group["rules"]


@pytest.fixture
def grafana_rules():
    loaded = yaml.safe_load(as_grafana_provisioning())
    assert loaded["apiVersion"] == 1
    (group,) = loaded["groups"]
    return group["rules"]


def test_both_ask_the_same_and_have_the_same_limits(prometheus_rules, grafana_rules):
    for alert, rule, provisioned in zip(ALERTS, prometheus_rules, grafana_rules, strict=True):
        asked, judged = provisioned["data"]
        assert rule["alert"] == provisioned["title"] == alert.name
        assert asked["model"]["expr"] == alert.expr
        (condition,) = judged["model"]["conditions"]
        assert condition["evaluator"] == {"type": "gt", "params": [alert.limit]}
        assert judged["model"]["expression"] == asked["refId"]
        assert provisioned["condition"] == judged["refId"]
        assert rule["expr"] == f"{alert.expr} > {alert.limit:g}"
        assert rule["for"] == provisioned["for"] == targets.ALERT_FOR


def test_grafana_would_take_a_single_dollar_for_its_own_environment(grafana_rules):
    for rule in grafana_rules:
        for text in (*rule["annotations"].values(), rule["data"][0]["model"]["expr"]):
            assert "$" not in text.replace("$$", "")
        assert "$$labels.job" in rule["annotations"]["summary"]


def test_each_leads_to_a_panel_that_exists(grafana_rules):
    for alert, rule in zip(ALERTS, grafana_rules, strict=True):
        file = ROOT / "deploy" / "grafana" / "dashboards" / f"{alert.board.name}.json"
        board = json.loads(file.read_text("utf-8"))
        # Grafana wants both, or neither; the number as a text.
        assert rule["annotations"]["__dashboardUid__"] == board["uid"]
        titles = {str(panel["id"]): panel["title"] for panel in board["panels"]}
        assert titles[rule["annotations"]["__panelId__"]] == alert.panel
    assert len({rule["uid"] for rule in grafana_rules}) == len(ALERTS)


def test_each_asks_for_metrics_that_exist():
    known = {
        metric_name(value) for value in vars(names).values() if isinstance(value, names.Metric)
    }
    for alert in ALERTS:
        asked = {
            re.sub("_(bucket|count)$", "", name) for name in re.findall(r"(\w+)\{", alert.expr)
        }
        assert asked
        assert asked <= known


def test_a_late_first_token_is_counted_by_a_boundary_of_the_histogram():
    assert targets.FIRST_TOKEN_TARGET_S in names.SECONDS


def test_one_slow_call_is_no_alert():
    assert 1 / targets.FEWEST_CALLS <= 1 - targets.OBJECTIVE + 1e-12
