"""What holds of every panel, whatever it is about."""

from __future__ import annotations

import re

import grafana_foundation_sdk  # noqa: F401  # without it these are left out
import pytest

from dashboards.build import BOARDS
from dashboards.prometheus_names import label_name, metric_name
from llmphases import conventions as names
from llmphases.phases import Phase

PANELS = [(board, panel) for board in BOARDS for panel in board.panels]
EACH_PANEL = pytest.mark.parametrize(
    ("board", "panel"), PANELS, ids=lambda value: getattr(value, "title", None)
)
OTHERS = {"gen_ai_server_time_to_first_token_seconds"}
"""Metrics that we do not write."""

_METRICS = {
    f"{metric_name(value)}{part}": value
    for value in vars(names).values()
    if isinstance(value, names.Metric)
    for part in (("_bucket", "_sum", "_count") if value.boundaries else ("",))
}
_LABELS = {label_name(value) for value in vars(names).values() if isinstance(value, str)} | {
    "job", "le", "gen_ai_system",
}  # fmt: skip
_PHASES = {phase.value for phase in Phase}


def metrics_in(expr: str) -> set[str]:
    return set(re.findall(r"(\w+)\{", expr))


def labels_in(expr: str) -> set[str]:
    grouped = re.findall(r"\b(?:by|on) \(([\w, ]*)\)", expr)
    matched = re.findall(r'(\w+)(?:=~|!~|!=|=)"', expr)
    return {label.strip() for group in grouped for label in group.split(",")} - {""} | {*matched}


@EACH_PANEL
def test_each_query_asks_for_metrics_and_labels_that_exist(board, panel):
    for query in panel.queries:
        asked = {re.sub("_(bucket|sum|count)$", "", name) for name in metrics_in(query.expr)}
        assert metrics_in(query.expr)
        assert metrics_in(query.expr) - set(_METRICS) <= {
            f"{name}_bucket" for name in OTHERS & asked
        }
        assert labels_in(query.expr) <= _LABELS
        assert set(re.findall(r"\{\{(\w+)\}\}", query.legend)) <= _LABELS


@EACH_PANEL
def test_each_panel_says_what_it_shows_and_what_to_do(board, panel):
    for text in (panel.shows, panel.advice):
        first = text.split()[0].rstrip(":,")
        assert not first[0].islower() or first in _PHASES
        assert text.endswith(".")
        assert "  " not in text
    assert panel.title[0].isupper()
    assert not panel.title.endswith(".")
    assert panel.unit in {"s", "bytes", "percentunit", "none", "short"}
    assert panel.no_value


@EACH_PANEL
def test_what_is_over_the_range_asks_for_the_range_and_what_is_over_time_does_not(board, panel):
    for query in panel.queries:
        windows = set(re.findall(r"\[(\$?\w+)\](?! offset)", query.expr))
        if panel.kind.is_over_the_range:
            assert "$__rate_interval" not in windows
        else:
            assert windows <= {"$__rate_interval"}


@EACH_PANEL
def test_each_panel_can_be_restricted_to_a_service(board, panel):
    for query in panel.queries:
        selectors = re.findall(r"\w+\{([^}]*)\}", query.expr)
        assert selectors
        assert all('job=~"$job"' in selector for selector in selectors)


@EACH_PANEL
def test_seconds_are_shown_as_seconds_and_bytes_as_bytes(board, panel):
    for query in panel.queries:
        if query.expr.startswith("histogram_quantile"):
            (metric,) = {
                metric.unit for name, metric in _METRICS.items() if name in metrics_in(query.expr)
            } or {"s"}
            assert panel.unit == {"s": "s", "By": "bytes"}[metric]


def test_titles_are_unique_on_their_board_and_names_among_all():
    assert len({board.name for board in BOARDS}) == len(BOARDS)
    for board in BOARDS:
        titles = [panel.title for panel in board.panels]
        assert len(set(titles)) == len(titles)


def test_addresses_stay_what_others_link_to():
    assert [board.uid for board in BOARDS] == [
        "llmphases-first-token",
        "llmphases-fixed-cost",
        "llmphases-command-line",
        "llmphases-parallelism",
    ]
