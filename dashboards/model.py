"""What a dashboard is, before it is Grafana's; pictures and the document are made of it, too."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import count


class Kind(StrEnum):
    """How a panel draws what its queries find."""

    TILE = "tile"
    """One number for each series, over the whole time range."""
    BARS = "bars"
    """One bar for each series, over the whole time range."""
    LINES = "lines"
    """A line for each series over time."""
    STACK = "stack"
    """Columns over time, the series on top of each other."""
    SHARES = "shares"
    """The same as parts of a whole."""
    STEPS = "steps"
    """Lines that keep their value until the next one."""
    HEATMAP = "heatmap"
    """The buckets of a histogram over time."""

    @property
    def is_over_the_range(self) -> bool:
        """Whether the queries are asked once, at the end of the time range."""
        return self in {Kind.TILE, Kind.BARS}


@dataclass(frozen=True, slots=True)
class Query:
    """A question to Prometheus, and what each series of the answer is called."""

    expr: str
    legend: str
    """Labels of a series in double braces."""
    has_exemplars: bool = False
    """Whether dots that lead to traces are drawn, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel.

    Attributes:
        title: A question, or a plain statement.
        shows: What the numbers are, in a sentence or two.
        advice: What to do where they are high (or low).
        unit: Grafana's name of it: `s`, `percentunit`, `bytes`, `short` ...
        no_value: What a tile says where there is nothing to say.
        warn: From where on a number is orange, and then red; none: no colours.
        width: Of 24 columns.
        decimals: After the point; by default as many as Grafana likes.
    """

    title: str
    shows: str
    advice: str
    kind: Kind
    unit: str
    queries: tuple[Query, ...]
    no_value: str = "no calls"
    warn: tuple[float, float] | None = None
    width: int = 12
    decimals: int | None = None

    @property
    def description(self) -> str:
        """What Grafana shows at the panel's corner."""
        return f"{self.shows}\n\n{self.advice}"


@dataclass(frozen=True, slots=True)
class Row:
    """Panels under one heading."""

    title: str
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One dashboard; `name` is that of its files, and part of its address."""

    name: str
    title: str
    about: str
    rows: tuple[Row, ...]

    @property
    def uid(self) -> str:
        """What Grafana's addresses know it by; others' links contain it."""
        return f"llmphases-{self.name}"

    @property
    def numbered(self) -> tuple[tuple[int, Row, tuple[tuple[int, Panel], ...]], ...]:
        """Rows and panels with the numbers that links to them contain."""
        numbers = count(1)
        return tuple(
            (next(numbers), row, tuple((next(numbers), panel) for panel in row.panels))
            for row in self.rows
        )

    def number_of(self, title: str) -> int:
        """The number of a panel. Raises `KeyError` if there is none of that title."""
        return {panel.title: n for _, _, panels in self.numbered for n, panel in panels}[title]

    @property
    def panels(self) -> tuple[Panel, ...]:
        """All of them, as they are read."""
        return tuple(panel for row in self.rows for panel in row.panels)
