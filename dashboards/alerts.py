"""Alert rules, for Prometheus itself and for Grafana: the same questions and limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from dashboards import first_token, fixed_cost, parallelism, targets
from dashboards import queries as q
from dashboards.model import Board
from dashboards.prometheus_names import label_name
from llmphases import conventions as names
from llmphases.phases import Cost

_GROUP = "llmphases"
_BY = (q.JOB, q.CALL)
_EVERYTHING = ""
_WINDOW_S = 3600
_HEADER = "# Written by `make dashboards` (dashboards/alerts.py): change it there.\n"
_DATASOURCE = "prometheus"
"""The uid that deploy/grafana/provisioning/datasources gives it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One rule. It fires where `expr` has an answer over `limit`.

    Attributes:
        name: As notifications show it.
        expr: A number for each service and call; no answer where there is too little to judge by.
        limit: The most that is right.
        summary: One line; labels as Go templates of Prometheus have them.
        advice: What to do.
        board: The board that shows more.
        panel: The title of its panel that does.
    """

    name: str
    expr: str
    limit: float
    summary: str
    advice: str
    board: Board
    panel: str


def _increase(
    metric: names.Metric, matchers: str, window: str, part: str = "", by: Sequence[str] = ()
) -> str:
    """As Prometheus sees it: a little off does not matter here, and such rules are read."""
    return q.total(f"increase({q.series(metric, matchers, part)}[{window}])", by)


def _late_share() -> str:
    window = targets.ALERT_WINDOW
    in_time = _increase(
        names.CALL_FIRST_TOKEN,
        q.boundary(targets.FIRST_TOKEN_TARGET_S),
        window,
        "bucket",
        _BY,
    )
    calls = _increase(names.CALL_FIRST_TOKEN, _EVERYTHING, window, "count", _BY)
    # 1 - 19 / 20 is a little more than 0.05 to a computer: one late call would be an alert.
    return f"round(1 - {in_time} / ({calls} >= {targets.FEWEST_CALLS}), 0.001)"


def _fixed_share() -> str:
    outermost = f'{label_name(names.CALL_NESTED)}="false"'
    fixed = _increase(
        names.CALL_PAID, f'{outermost}, {q.COST}="{Cost.FIXED}"', targets.ALERT_WINDOW, by=_BY
    )
    both = _increase(names.CALL_PAID, outermost, targets.ALERT_WINDOW, by=_BY)
    return f"({fixed} >= {targets.FIXED_WORTH_S:g}) / {both}"


def _retries_per_call() -> str:
    retries = _increase(names.RETRIES_TOTAL, _EVERYTHING, targets.ALERT_WINDOW, by=_BY)
    calls = _increase(names.CALL_DURATION, _EVERYTHING, targets.ALERT_WINDOW, "count", _BY)
    return f"({retries} >= {targets.FEWEST_RETRIES}) / ({calls} > 0)"


WHOSE = f"{{{{ $labels.{q.CALL} }}}} of {{{{ $labels.{q.JOB} }}}}"

ALERTS = (
    Alert(
        name="LlmFirstTokenLate",
        expr=_late_share(),
        limit=round(1 - targets.OBJECTIVE, 6),
        summary=f"First tokens of {WHOSE} come later than {targets.FIRST_TOKEN_TARGET_S:g} s in "
        f"more than {1 - targets.OBJECTIVE:.0%} of the calls of the last hour.",
        advice="The panel 'What is the wait made of?' shows the phase to work on.",
        board=first_token.BOARD,
        panel="How many calls are over the target?",
    ),
    Alert(
        name="LlmFixedCostHigh",
        expr=_fixed_share(),
        limit=targets.FIXED_SHARE_TARGET,
        summary=f"Fixed cost of {WHOSE} was more than {targets.FIXED_SHARE_TARGET:.0%} of fixed "
        "cost and generation together in the last hour, and more than "
        f"{targets.FIXED_WORTH_S / 60:g} minutes.",
        advice="Ask for more in each call, in as many calls as there are workers.",
        board=fixed_cost.BOARD,
        panel="Which calls are mostly fixed cost?",
    ),
    Alert(
        name="LlmRetriesMany",
        expr=_retries_per_call(),
        limit=targets.RETRIES_PER_CALL,
        summary=f"Of {WHOSE}, more than {targets.RETRIES_PER_CALL:g} requests per call "
        "were sent again in the last hour.",
        advice="With RateLimitError or 429: fewer workers. With connection errors: the network.",
        board=parallelism.BOARD,
        panel="How many calls are sent again?",
    ),
)


def as_prometheus_rules() -> str:
    """A rule file of Prometheus."""
    rules = [
        {
            "alert": alert.name,
            "expr": f"{alert.expr} > {alert.limit:g}",
            "for": targets.ALERT_FOR,
            "labels": {"severity": "warning"},
            "annotations": {
                "summary": alert.summary,
                "description": alert.advice,
                "dashboard": alert.board.uid,
            },
        }
        for alert in ALERTS
    ]
    return _as_yaml({"groups": [{"name": _GROUP, "interval": "1m", "rules": rules}]})


def as_grafana_provisioning() -> str:
    """A file for `provisioning/alerting`.

    What Grafana would take for a variable of its environment has two dollar signs.
    """
    group = {
        "orgId": 1,
        "name": _GROUP,
        "folder": "LLM calls",
        "interval": "1m",
        "rules": [_grafana_rule(alert) for alert in ALERTS],
    }
    return _as_yaml({"apiVersion": 1, "groups": [group]})


def _grafana_rule(alert: Alert) -> dict[str, Any]:
    asked = {
        "refId": "A",
        "relativeTimeRange": {"from": _WINDOW_S, "to": 0},
        "datasourceUid": _DATASOURCE,
        "model": {"refId": "A", "expr": alert.expr, "instant": True, "range": False},
    }
    over = {"evaluator": {"type": "gt", "params": [alert.limit]}}
    judged = {
        "refId": "B",
        "relativeTimeRange": {"from": _WINDOW_S, "to": 0},
        "datasourceUid": "__expr__",
        "model": {"refId": "B", "type": "threshold", "expression": "A", "conditions": [over]},
    }
    return {
        "uid": alert.name.lower(),
        "title": alert.name,
        "condition": "B",
        "data": [asked, judged],
        # Too few calls to judge by is no answer, and all right.
        "noDataState": "OK",
        "execErrState": "Error",
        "for": targets.ALERT_FOR,
        "labels": {"severity": "warning"},
        "annotations": {
            "summary": alert.summary.replace("$", "$$"),
            "description": alert.advice,
            "__dashboardUid__": alert.board.uid,
            "__panelId__": str(alert.board.number_of(alert.panel)),
        },
    }


def _as_yaml(content: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(content, sort_keys=False, width=100, allow_unicode=True)
    return _HEADER + text
