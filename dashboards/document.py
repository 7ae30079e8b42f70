"""The page about the dashboards, from the same descriptions that Grafana shows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dashboards import targets
from dashboards.alerts import ALERTS, WHOSE
from dashboards.model import Board, Panel, Row

_OPENING = """\
# Dashboards and alerts

Written by `make dashboards` from `dashboards/`; the pictures by `make dashboard-pictures`, from
the answers of a real Prometheus after `llmphases demo` (30 times as fast as the case that it tells
of), and some calls that are retried or fail.

```
llmphases dashboards export llm-dashboards
cd llm-dashboards
docker compose -f docker-compose.jaeger.yml up -d --wait
OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318 python your_program.py
```

Grafana is at <http://localhost:3000> and opens with *First-token latency*. For a Grafana that you
have, import the files in `deploy/grafana/dashboards` and choose your Prometheus at the top; it has
to take OTLP (`--web.enable-otlp-receiver`). The dashboards need no other flag: what a program left
counts in full, be it one push, and is not stretched to the ends of the time range as `increase()`
does. The alert rules do use `increase()`, and need the flags in `docker-compose.jaeger.yml` for
programs that push once.

Numbers are those of the chosen service, call and model. Tiles and bars are about the whole time
range, lines about some minutes each. Fixed cost and generation of a call inside another are summed
up in the outermost: of inner calls alone there is no such sum. What cannot be known leaves a gap,
and no zero.

Sums, shares and counts are exact; but of a program that sent nothing for an hour (a machine that
slept, a stack that was down), all it ever counted comes at once when it sends again. Half, 95 % and
99 % are read off the boundaries of histograms (10 ms 25 50 100 250 500 1 s 2 3 5 7.5 10 ...; of
memory, powers of two): a p95 between 0.5 and 1 s may be anything between, most of all of a few
calls. `llmphases report` has it exactly.
"""


def as_markdown(boards: Sequence[Board]) -> str:
    """The page."""
    return "\n".join([_OPENING, *(_board(board) for board in boards), _alerts()])


def _board(board: Board) -> str:
    picture = f"![{board.title}](pictures/{board.name}.png)"
    return "\n".join([f"## {board.title}", "", board.about, "", picture, "", *_rows(board.rows)])


def _rows(rows: Iterable[Row]) -> Iterable[str]:
    for row in rows:
        yield f"**{row.title}**\n"
        yield from (_panel(panel) for panel in row.panels)
        yield ""


def _panel(panel: Panel) -> str:
    return f"- *{panel.title}* {panel.shows} {panel.advice}"


def _alerts() -> str:
    where = (
        "For Prometheus in `deploy/prometheus/rules`, for Grafana in "
        "`deploy/grafana/provisioning/alerting`. Each looks at the last "
        f"{targets.ALERT_WINDOW}, for each service and call, and fires after {targets.ALERT_FOR}. "
        "The limits are in `dashboards/targets.py`, each with its reason."
    )
    lines = ["## Alerts", "", where, "", "| alert | fires when |", "| --- | --- |"]
    lines += [f"| `{alert.name}` | {_plain(alert.summary)} |" for alert in ALERTS]
    return "\n".join([*lines, ""])


def _plain(summary: str) -> str:
    """Without Go's templates."""
    return summary.replace(WHOSE, "*a call* of *a service*")
