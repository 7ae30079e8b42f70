from __future__ import annotations

import json
import re

import grafana_foundation_sdk  # noqa: F401  # without it these are left out
import pytest

from dashboards import grafana
from dashboards.build import BOARDS
from dashboards.variables import expanded, used_by
from llmphases import conventions as names


@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_a_board_has_the_variables_that_its_queries_contain(board):
    loaded = json.loads(grafana.as_json(board))
    there = {variable["name"] for variable in loaded["templating"]["list"]}
    grafanas_own = {"__range", "__rate_interval", "__rate_interval_ms", "1"}
    assert used_by(board) - grafanas_own == there - {"datasource"}


def test_an_expanded_query_asks_for_everything_unless_something_is_chosen():
    expr = 'a{job=~"$job", m=~"$model"}[$__range] + b[$__rate_interval] / $__rate_interval_ms'
    times = {"range_s": 3600, "rate_interval_s": 300}
    assert expanded(expr, **times) == 'a{job=~".*", m=~".*"}[3600s] + b[300s] / 300000'
    chosen = expanded(expr, **times, chosen={"job": "boxes"})
    assert chosen.startswith('a{job=~"boxes", m=~".*"}')


def test_a_variable_that_no_board_has_is_refused():
    with pytest.raises(KeyError):
        expanded("$nothing", range_s=3600, rate_interval_s=300)


def test_the_target_is_chosen_among_the_boundaries_of_the_histogram():
    loaded = json.loads(grafana.as_json(BOARDS[0]))
    (target,) = (v for v in loaded["templating"]["list"] if v["name"] == "target")
    assert target["current"]["text"] == "10 s"
    for option in target["options"]:
        (bound,) = (b for b in names.SECONDS if re.fullmatch(option["value"], f"{b:g}"))
        assert option["text"] == f"{bound:g} s"
    # As Grafana reads it: `text : value` between commas.
    read = [part.split(" : ") for part in target["query"].split(", ")]
    assert read == [[option["text"], option["value"]] for option in target["options"]]
