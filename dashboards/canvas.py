"""Draws a board as Grafana would lay it out, from answers: for the documents."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from dashboards.colours import colours_by_legend
from dashboards.model import Board, Kind, Panel
from dashboards.numbers_as_text import as_text

Numbers = Mapping[str, float]
Courses = Mapping[str, list[tuple[float, float]]]

_COLUMNS = 24
_HEADING, _TILE, _REST = 1.2, 3.4, 6.4
_INCHES_PER_COLUMN, _INCHES_PER_LINE = 0.54, 0.33
_DPI = 80
_GREEN, _ORANGE, _RED, _TEXT = "#2e8b57", "#e08b1a", "#c9372c", "#24292f"
_PAPER, _EDGE, _GRID = "#ffffff", "#d8dee4", "#eceff2"
_CYCLE = ("#4a7fb5", "#ed8936", "#3d9970", "#8e6bbf", "#c9b458", "#d64545", "#7f8c8d")
_MOST_TILES_IN_A_LINE = 4
_LARGEST = 17.0
"""Points, of the number in a tile."""
_LEAST_DRAWING_IN = 0.9
"""Inches of a panel that no legend takes."""
_FEWEST_BARS = 4
"""Room for so many: less would be very thick."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What was found for a panel: numbers for tiles and bars, courses for all that is over time."""

    numbers: Numbers
    courses: Courses


def draw(board: Board, answers: Mapping[str, Answer], subtitle: str, path: Path) -> None:
    """Write the picture. `answers` is by the titles of the panels."""
    mpl.rcParams.update({"font.size": 8})
    places = list(_places(board))
    lines = max(top + height for _, _, top, _, height in places)
    figure = Figure((_COLUMNS * _INCHES_PER_COLUMN, (lines + 1.4) * _INCHES_PER_LINE), dpi=_DPI)
    figure.set_facecolor("#f4f6f8")
    total = lines + 1.4
    figure.text(0.008, 1 - 0.55 / total, board.title, size=13, weight="bold", va="center")
    figure.text(0.992, 1 - 0.55 / total, subtitle, size=8, va="center", ha="right", color="#57606a")
    for what, left, top, width, height in places:
        bottom = 1 - (top + 1.4 + height) / total
        if isinstance(what, str):
            figure.text(0.008, bottom + 0.3 / total, what, size=9.5, weight="bold")
            continue
        place = (left / _COLUMNS + 0.004, bottom, width / _COLUMNS - 0.008, (height - 0.25) / total)
        _draw_panel(figure, place, what, answers[what.title])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Software": None})


def _places(board: Board) -> Iterable[tuple[Panel | str, float, float, float, float]]:
    """Each heading and panel, with left, top, width and height, in columns and lines."""
    top = 0.0
    for row in board.rows:
        yield row.title, 0, top, _COLUMNS, _HEADING
        top += _HEADING
        left, tallest = 0.0, 0.0
        for panel in row.panels:
            height = _TILE if panel.kind is Kind.TILE else _REST
            if left + panel.width > _COLUMNS:
                left, top, tallest = 0.0, top + tallest, 0.0
            yield panel, left, top, panel.width, height
            left, tallest = left + panel.width, max(tallest, height)
        top += tallest


def _draw_panel(figure: Figure, place: Any, panel: Panel, answer: Answer) -> None:
    left, bottom, width, height = place
    frame = figure.add_axes(place, facecolor=_PAPER)
    frame.set(xticks=[], yticks=[])
    for side in frame.spines.values():
        side.set_color(_EDGE)
    inches = width * figure.get_figwidth()
    title = textwrap.fill(panel.title, max(10, int(inches * 15)))
    title_share = (0.34 if "\n" not in title else 0.52) / (height * figure.get_figheight())
    frame.text(
        0.08 / inches, 1 - 0.05 / (height * figure.get_figheight()), title,
        va="top", size=8, weight="bold", color=_TEXT, transform=frame.transAxes,
    )  # fmt: skip
    if not (answer.numbers if panel.kind.is_over_the_range else answer.courses):
        frame.text(0.5, 0.4, panel.no_value, ha="center", va="center", color="#8b949e")
        return
    inner = (left, bottom, width, height * (1 - title_share))
    _DRAWN[panel.kind](figure, inner, panel, answer)


def _tiles(figure: Figure, place: Any, panel: Panel, answer: Answer) -> None:
    left, bottom, width, height = place
    shown = sorted(answer.numbers.items()) if len(panel.queries) == 1 else answer.numbers.items()
    across = min(len(answer.numbers), _MOST_TILES_IN_A_LINE)
    down = -(-len(answer.numbers) // across)
    axes = figure.add_axes((left, bottom, width, height))
    axes.set_axis_off()
    for number, (legend, value) in enumerate(shown):
        column, line = number % across, number // across
        x, y = (column + 0.5) / across, 1 - (line + 0.5) / down
        text = as_text(value, panel.unit, panel.decimals)
        cell_in = width * figure.get_figwidth() / across
        size = min(_LARGEST / down**0.7, 72 * cell_in * 0.8 / (0.66 * max(4, len(text))))
        axes.text(x, y + 0.1 / down, text, size=size, color=_colour(panel, value), ha="center",
                  va="center", weight="bold")  # fmt: skip
        axes.text(x, y - 0.3 / down, legend, size=7, color="#57606a", ha="center", va="center")


def _colour(panel: Panel, value: float) -> str:
    if panel.warn is None:
        return _TEXT
    orange, red = panel.warn
    return _RED if value >= red else _ORANGE if value >= orange else _GREEN


def _axes(figure: Figure, place: Any, *, left_in: float, bottom_in: float) -> Any:
    left, bottom, width, height = place
    wide, high = figure.get_figwidth(), figure.get_figheight()
    axes = figure.add_axes(
        (
            left + left_in / wide, bottom + bottom_in / high,
            width - (left_in + 0.12) / wide, height - (bottom_in + 0.04) / high,
        )
    )  # fmt: skip
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_EDGE)
    axes.tick_params(length=0, colors="#57606a", labelsize=7)
    axes.set_axisbelow(True)
    axes.set_prop_cycle(color=_CYCLE)
    return axes


def _bars(figure: Figure, place: Any, panel: Panel, answer: Answer) -> None:
    longest = max(len(legend) for legend in answer.numbers)
    left_in = min(0.2 + 0.062 * longest, 0.6 * place[2] * figure.get_figwidth())
    axes = _axes(figure, place, left_in=left_in, bottom_in=0.08)
    legends = list(answer.numbers)[::-1]
    values = [answer.numbers[legend] for legend in legends]
    colours = [colours_by_legend().get(legend, _CYCLE[0]) for legend in legends]
    axes.barh(legends, values, color=colours, height=0.7)
    axes.set(xticks=[], xlim=(0, max(values) * 1.25 or 1), ylim=_heights(len(values)))
    axes.spines["bottom"].set_visible(False)
    for number, value in enumerate(values):
        text = f" {as_text(value, panel.unit, panel.decimals)}"
        axes.text(value, number, text, va="center", size=7.5, color=_TEXT)


def _heights(bars: int) -> tuple[float, float]:
    """The first at the top, however few there are."""
    return bars - 0.4 - max(_FEWEST_BARS, bars), bars - 0.4


def _over_time(
    figure: Figure, place: Any, panel: Panel, answer: Answer
) -> tuple[Any, tuple[int, int]]:
    """The axes, and into how many columns and lines their legend goes."""
    inches = place[2] * figure.get_figwidth(), place[3] * figure.get_figheight()
    columns, lines = _legend_grid(inches, answer.courses)
    axes = _axes(figure, place, left_in=0.58, bottom_in=0.32 + 0.17 * lines)
    axes.grid(axis="y", color=_GRID)
    axes.yaxis.set_major_formatter(lambda value, _: as_text(value, panel.unit))
    points = [at for course in answer.courses.values() for at, _ in course]
    _seconds_ago(axes, min(points))
    return axes, (columns, lines)


def _legend_grid(inches: tuple[float, float], legends: Iterable[str]) -> tuple[int, int]:
    """Columns and lines; no more lines than leave room for a drawing."""
    width, height = inches
    known = list(legends)
    columns = max(1, min(len(known), int(width / (0.35 + 0.056 * max(map(len, known))))))
    most = max(1, int((height - _LEAST_DRAWING_IN) / 0.17))
    return columns, min(most, -(-len(known) // columns))


def _seconds_ago(axes: Any, first: float) -> None:
    axes.set_xlim(first - 1, 1)
    axes.xaxis.set_major_locator(MaxNLocator(8, integer=True))
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:+.0f} s" if value else "now")


def _legend(axes: Any, grid: tuple[int, int]) -> None:
    columns, lines = grid
    handles, labels = (found[: columns * lines] for found in axes.get_legend_handles_labels())
    below = 0.2 / (axes.get_position().height * axes.figure.get_figheight())
    axes.legend(
        handles, labels, loc="upper center", bbox_to_anchor=(0.5, -below), ncol=columns,
        frameon=False, fontsize=7, handlelength=1.1, columnspacing=1.2, borderaxespad=0,
    )  # fmt: skip


def _lines(figure: Figure, place: Any, panel: Panel, answer: Answer) -> None:
    axes, grid = _over_time(figure, place, panel, answer)
    steps = {"drawstyle": "steps-post"} if panel.kind is Kind.STEPS else {}
    for legend, course in sorted(answer.courses.items()):
        at, values = zip(*course, strict=True)
        axes.plot(at, values, label=legend, linewidth=1.3, marker="o", markersize=2, **steps)
    axes.set_ylim(0, max(1e-9, *(v for c in answer.courses.values() for _, v in c)) * 1.15)
    _legend(axes, grid)


def _stack(figure: Figure, place: Any, panel: Panel, answer: Answer) -> None:
    axes, grid = _over_time(figure, place, panel, answer)
    times = sorted({at for course in answer.courses.values() for at, _ in course})
    wide = min((b - a for a, b in pairwise(times)), default=1.0)
    sums = dict.fromkeys(times, 0.0)
    for course in answer.courses.values():
        for at, value in course:
            sums[at] += value
    base = dict.fromkeys(times, 0.0)
    for legend, course in answer.courses.items():
        parts = [
            (at, v / sums[at] if panel.kind is Kind.SHARES else v) for at, v in course if sums[at]
        ]
        axes.bar(
            [at for at, _ in parts], [v for _, v in parts], bottom=[base[at] for at, _ in parts],
            width=wide, label=legend, color=colours_by_legend().get(legend),
        )  # fmt: skip
        for at, value in parts:
            base[at] += value
    if panel.kind is Kind.SHARES:
        axes.set_ylim(0, 1)
        axes.yaxis.set_major_formatter(lambda value, _: as_text(value, "percentunit"))
    _legend(axes, grid)


def _heatmap(figure: Figure, place: Any, panel: Panel, answer: Answer) -> None:
    axes = _axes(figure, place, left_in=0.58, bottom_in=0.28)
    edges = sorted(answer.courses, key=float)
    times = sorted({at for course in answer.courses.values() for at, _ in course})
    cells, below = [], dict.fromkeys(times, 0.0)
    for edge in edges:
        counts = dict(answer.courses[edge])
        cells.append([counts.get(at, 0.0) - below[at] for at in times])
        below = {at: counts.get(at, 0.0) for at in times}
    used = [number for number, row in enumerate(cells) if max(row) > 1e-9]
    first, last = max(0, min(used) - 1), min(len(edges), max(used) + 2)
    seen = [[value if value > 1e-9 else math.nan for value in row] for row in cells[first:last]]
    axes.pcolormesh(times, range(last - first), seen, cmap="Oranges", vmin=0, shading="nearest")
    names = ["more" if edge == "+Inf" else as_text(float(edge), "s") for edge in edges[first:last]]
    axes.set_yticks(
        range(last - first), [f"≤ {name}" if name != "more" else name for name in names]
    )
    _seconds_ago(axes, min(times))


_DRAWN: dict[Kind, Callable[[Figure, Any, Panel, Answer], None]] = {
    Kind.TILE: _tiles,
    Kind.BARS: _bars,
    Kind.LINES: _lines,
    Kind.STEPS: _lines,
    Kind.STACK: _stack,
    Kind.SHARES: _stack,
    Kind.HEATMAP: _heatmap,
}
