"""Writes what is generated into `deploy/` and `docs/`.

`--check` writes nothing and tells what is stale (exit 1).
"""

from __future__ import annotations

import sys
from pathlib import Path

from dashboards import alerts, command_line, document, first_token, fixed_cost, grafana, parallelism
from dashboards.model import Board

ROOT = Path(__file__).parents[1]
BOARDS: tuple[Board, ...] = (
    first_token.BOARD,
    fixed_cost.BOARD,
    command_line.BOARD,
    parallelism.BOARD,
)
"""The first is what Grafana opens with."""


def generated() -> dict[Path, str]:
    """Each file that is written, and its text."""
    boards = ROOT / "deploy" / "grafana" / "dashboards"
    return {
        **{boards / f"{board.name}.json": grafana.as_json(board) for board in BOARDS},
        ROOT / "deploy" / "prometheus" / "rules" / "llmphases.yml": alerts.as_prometheus_rules(),
        ROOT / "deploy" / "grafana" / "provisioning" / "alerting" / "llmphases.yml": (
            alerts.as_grafana_provisioning()
        ),
        ROOT / "docs" / "dashboards.md": document.as_markdown(BOARDS),
    }


def main(arguments: list[str]) -> int:
    """Write, or with `--check` tell what is stale."""
    stale = 0
    for path, text in generated().items():
        if path.exists() and path.read_text("utf-8") == text:
            continue
        stale += 1
        if "--check" in arguments:
            print(f"{path.relative_to(ROOT)} is stale: make dashboards", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
            print(f"{path.relative_to(ROOT)} written")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
