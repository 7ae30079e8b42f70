"""The files that Grafana loads, by its own types."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import pytest
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard

from dashboards import grafana
from dashboards.build import BOARDS
from dashboards.model import Kind

EACH_BOARD = pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
_TYPES = {
    Kind.TILE: "stat", Kind.BARS: "bargauge", Kind.HEATMAP: "heatmap", Kind.LINES: "timeseries",
    Kind.STEPS: "timeseries", Kind.STACK: "timeseries", Kind.SHARES: "timeseries",
}  # fmt: skip


def everything_in(value: Any) -> list[Any]:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [value, *(found for one in inner for found in everything_in(one))]


@EACH_BOARD
def test_grafanas_own_types_read_all_of_it(board):
    register_default_plugins()
    text = grafana.as_json(board)
    read = Dashboard.from_json(json.loads(text))
    assert f"{JSONEncoder(sort_keys=True, indent=2).encode(read)}\n" == text
    assert read.schema_version == 42


@EACH_BOARD
def test_no_datasource_is_named_but_by_the_variable(board):
    """RC-094: imported where Prometheus has another name, it works all the same."""
    loaded = json.loads(grafana.as_json(board))
    named = [
        one["datasource"] for one in everything_in(loaded)
        if isinstance(one, dict) and "datasource" in one
    ]  # fmt: skip
    assert named
    assert all(one == {"type": "prometheus", "uid": "${datasource}"} for one in named)
    (variable,) = (v for v in loaded["templating"]["list"] if v["name"] == "datasource")
    assert variable["type"] == "datasource"
    assert variable["query"] == "prometheus"


@EACH_BOARD
def test_every_panel_is_there_with_its_words_unit_and_queries(board):
    loaded = json.loads(grafana.as_json(board))
    drawn = [panel for panel in loaded["panels"] if panel["type"] != "row"]
    assert len(drawn) == len(board.panels)
    for found, panel in zip(drawn, board.panels, strict=True):
        assert found["type"] == _TYPES[panel.kind]
        assert found["title"] == panel.title
        assert found["description"] == f"{panel.shows}\n\n{panel.advice}"
        assert found["fieldConfig"]["defaults"]["unit"] == panel.unit
        assert found["fieldConfig"]["defaults"]["noValue"] == panel.no_value
        assert [target["expr"] for target in found["targets"]] == [q.expr for q in panel.queries]
        assert len({target["refId"] for target in found["targets"]}) == len(panel.queries)
        instant = [target.get("instant", False) for target in found["targets"]]
        assert instant == [panel.kind.is_over_the_range] * len(panel.queries)


@EACH_BOARD
def test_panels_lie_in_the_grid_and_not_on_each_other(board):
    loaded = json.loads(grafana.as_json(board))
    places = [panel["gridPos"] for panel in loaded["panels"]]
    assert all(place.get("x", 0) + place["w"] <= 24 for place in places)

    def overlap(a: dict[str, int], b: dict[str, int]) -> bool:
        apart = (
            a.get("x", 0) + a["w"] <= b.get("x", 0) or b.get("x", 0) + b["w"] <= a.get("x", 0)
            or a.get("y", 0) + a["h"] <= b.get("y", 0) or b.get("y", 0) + b["h"] <= a.get("y", 0)
        )  # fmt: skip
        return not apart

    assert [(a, b) for a, b in combinations(places, 2) if overlap(a, b)] == []
    ids = [panel["id"] for panel in loaded["panels"]]
    assert len(set(ids)) == len(ids)


def test_dots_lead_to_traces_from_the_wait_for_the_first_token():
    loaded = json.loads(grafana.as_json(BOARDS[0]))
    dotted = [
        panel["title"] for panel in loaded["panels"]
        if any(target.get("exemplar") for target in panel.get("targets", ()))
    ]  # fmt: skip
    assert dotted == ["The wait over time"]


def test_boards_lead_to_each_other_and_keep_what_was_chosen():
    for board in BOARDS:
        loaded = json.loads(grafana.as_json(board))
        (link,) = loaded["links"]
        assert set(link["tags"]) <= set(loaded["tags"])
        assert link["includeVars"]
        assert link["keepTime"]
