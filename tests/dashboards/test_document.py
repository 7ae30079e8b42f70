from __future__ import annotations

import grafana_foundation_sdk  # noqa: F401  # without it these are left out

from dashboards.alerts import ALERTS
from dashboards.build import BOARDS
from dashboards.document import as_markdown


def test_every_panel_and_alert_is_explained_in_a_line():
    lines = as_markdown(BOARDS).splitlines()
    for board in BOARDS:
        assert f"## {board.title}" in lines
        assert f"![{board.title}](pictures/{board.name}.png)" in lines
        for panel in board.panels:
            assert f"- *{panel.title}* {panel.shows} {panel.advice}" in lines
    for alert in ALERTS:
        assert sum(line.startswith(f"| `{alert.name}` |") for line in lines) == 1


def test_it_has_no_templates_in_it():
    assert "$labels" not in as_markdown(BOARDS)
