"""What can be chosen at the top of a dashboard, and what a query is when something is chosen."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.models import common
from grafana_foundation_sdk.models.dashboard import VariableOption, VariableRefresh, VariableSort

from dashboards import queries as q
from dashboards.model import Board
from dashboards.prometheus_names import metric_name
from dashboards.queries import boundary_pattern
from dashboards.targets import FIRST_TOKEN_TARGET_S
from llmphases import conventions as names

DATASOURCE: Final = common.DataSourceRef(type_val="prometheus", uid="${datasource}")
"""Whichever Prometheus is chosen: no dashboard knows one by its name."""
ANYTHING: Final = ".*"
"""Also of series that do not have the label."""
_CALLS = f"{metric_name(names.CALL_DURATION)}_count"
_CHOSEN_FROM: Final = {
    "job": ("Service", f"label_values({_CALLS}, {q.JOB})"),
    "call": ("Call", f'label_values({_CALLS}{{{q.JOB}=~"$job"}}, {q.CALL})'),
    "model": ("Model", f'label_values({_CALLS}{{{q.JOB}=~"$job"}}, {q.MODEL})'),
}
_TARGET = "target"
_TARGETS_S: Final = names.SECONDS[4:-1]
"""From a quarter of a second on; over the last there is no bucket."""
_NAMED: Final = re.compile(r"\$(\w+)")


def add_variables(dashboard: build.Dashboard, board: Board) -> None:
    """Those that the queries of the board contain."""
    dashboard.with_variable(
        build.DatasourceVariable("datasource").label("Prometheus").type("prometheus")
    )
    used = used_by(board)
    for name, (label, query) in _CHOSEN_FROM.items():
        if name in used:
            dashboard.with_variable(_of_labels(name, label, query))
    if _TARGET in used:
        dashboard.with_variable(_target())


def used_by(board: Board) -> set[str]:
    """The names of the variables in a board's queries."""
    exprs = [query.expr for panel in board.panels for query in panel.queries]
    return {name for expr in exprs for name in _NAMED.findall(expr)}


def expanded(
    expr: str, *, range_s: float, rate_interval_s: float, chosen: Mapping[str, str] | None = None
) -> str:
    """A query as Grafana asks it, over so long a range, each point looking back so far.

    Raises `KeyError` for a variable that no dashboard has.
    """
    values = dict.fromkeys(_CHOSEN_FROM, ANYTHING)
    values |= {_TARGET: boundary_pattern(FIRST_TOKEN_TARGET_S), "1": "$1"}
    values |= {"__range": f"{range_s:g}s", "__rate_interval": f"{rate_interval_s:g}s"}
    values |= {"__rate_interval_ms": f"{1000 * rate_interval_s:g}", **(chosen or {})}
    return _NAMED.sub(lambda match: values[match[1]], expr)


def _of_labels(name: str, label: str, query: str) -> build.QueryVariable:
    return (
        build.QueryVariable(name)
        .label(label)
        .datasource(DATASOURCE)
        .query({"qryType": 1, "query": query, "refId": "PrometheusVariableQueryEditor"})
        .definition(query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
        .all_value(ANYTHING)
        .current(VariableOption(selected=True, text="All", value="$__all"))
    )


def _target() -> build.CustomVariable:
    options = [
        VariableOption(
            selected=seconds == FIRST_TOKEN_TARGET_S,
            text=f"{seconds:g} s",
            value=boundary_pattern(seconds),
        )
        for seconds in _TARGETS_S
    ]
    return (
        build.CustomVariable(_TARGET)
        .label("Target")
        .description("When a first token should have come: a boundary of the histogram.")
        .values(", ".join(f"{option.text} : {option.value}" for option in options))
        .options(options)
        .current(next(option for option in options if option.selected))
        .allow_custom_value(False)
    )
