"""What Prometheus answers to a panel's queries, under the names that Grafana gives the series."""

from __future__ import annotations

import json
import re
import urllib.parse
import urllib.request
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dashboards.model import Panel, Query
from dashboards.variables import expanded

_LABEL = re.compile(r"\{\{(\w+)\}\}")
_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """How the queries of a panel are asked.

    Attributes:
        url: Where Prometheus is.
        end_s: The end of the time range, in seconds since the epoch.
        window_s: How long it is.
        step_s: From one point to the next.
        rate_interval_s: What a point looks back on.
        chosen: Values of variables; all that is not chosen is shown.
    """

    url: str
    end_s: float
    window_s: float = 3600.0
    step_s: float = 15.0
    rate_interval_s: float = 300.0
    chosen: Mapping[str, str] | None = None

    def expr(self, query: Query) -> str:
        """The query without variables."""
        return expanded(
            query.expr,
            range_s=self.window_s,
            rate_interval_s=self.rate_interval_s,
            chosen=self.chosen,
        )


def legend_of(query: Query, labels: Mapping[str, str]) -> str:
    """The name of a series; a label that it does not have is nothing."""
    return _LABEL.sub(lambda match: labels.get(match[1], ""), query.legend).strip()


def numbers(panel: Panel, asked: Asked) -> dict[str, float]:
    """Each series' value at the end of the range."""
    found: dict[str, float] = {}
    for query in panel.queries:
        answer = _get(asked, "query", query=asked.expr(query), time=asked.end_s)
        for series in answer:
            found[legend_of(query, series["metric"])] = float(series["value"][1])
    return found


def courses(panel: Panel, asked: Asked) -> dict[str, list[tuple[float, float]]]:
    """Each series' points: seconds before the end of the range (negative), and the value."""
    found: dict[str, list[tuple[float, float]]] = {}
    for query in panel.queries:
        answer = _get(
            asked,
            "query_range",
            query=asked.expr(query),
            start=asked.end_s - asked.window_s,
            end=asked.end_s,
            step=asked.step_s,
        )
        for series in answer:
            found[legend_of(query, series["metric"])] = list(_points(series["values"], asked.end_s))
    return found


def _points(values: Iterable[Any], end_s: float) -> Iterable[tuple[float, float]]:
    return ((float(at) - end_s, float(value)) for at, value in values)


def _get(asked: Asked, what: str, **parameters: object) -> list[Any]:
    body = urllib.parse.urlencode(parameters).encode()
    with urllib.request.urlopen(  # noqa: S310  # an address that we were given
        f"{asked.url}/api/v1/{what}", body, timeout=_TIMEOUT_S
    ) as answer:
        result: list[Any] = json.load(answer)["data"]["result"]
    return result
