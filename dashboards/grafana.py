"""Boards as Grafana has them: classic JSON, which Grafana 10 to 13 load."""

from __future__ import annotations

from collections.abc import Callable
from string import ascii_uppercase
from typing import Any, TypeVar

from grafana_foundation_sdk.builders import bargauge, common, heatmap, prometheus, stat, timeseries
from grafana_foundation_sdk.builders import dashboard as build
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import (
    BarGaugeDisplayMode,
    BigValueColorMode,
    BigValueGraphMode,
    BigValueTextMode,
    GraphDrawStyle,
    LegendDisplayMode,
    LegendPlacement,
    LineInterpolation,
    StackingMode,
    TooltipDisplayMode,
    VisibilityMode,
    VizOrientation,
)
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    DynamicConfigValue,
    FieldColorModeId,
    Threshold,
    ThresholdsMode,
)
from grafana_foundation_sdk.models.heatmap import HeatmapColorMode
from grafana_foundation_sdk.models.prometheus import PromQueryFormat

from dashboards.colours import colours_by_legend
from dashboards.model import Board, Kind, Panel, Query
from dashboards.variables import DATASOURCE, add_variables

_Builder = TypeVar("_Builder", bargauge.Panel, timeseries.Panel)

TAG = "llmphases"
_LEAST_STEP = "1m"
"""How often programs send by default. Grafana's `$__rate_interval` is four of them at least."""
_HEIGHTS = {Kind.TILE: 5}
_HEIGHT = 8
_POINT_SIZE = 5
_FILLED = 90


def as_json(board: Board) -> str:
    """The file that Grafana loads; the same text each time."""
    dashboard = (
        build.Dashboard(board.title)
        .uid(board.uid)
        .description(board.about)
        .tags([TAG])
        .editable()
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .time("now-1h", "now")
        .refresh("30s")
        .version(1)
        .link(_to_the_others())
    )
    add_variables(dashboard, board)
    for row_number, row, panels in board.numbered:
        dashboard.with_row(build.Row(row.title).id(row_number))
        for number, panel in panels:
            dashboard.with_panel(_BUILDERS[panel.kind](panel).id(number))
    return f"{JSONEncoder(sort_keys=True, indent=2).encode(dashboard.build())}\n"


def _to_the_others() -> build.DashboardLink:
    return (
        build.DashboardLink("More of LLM calls")
        .type(DashboardLinkType.DASHBOARDS)
        .tags([TAG])
        .include_vars(True)
        .keep_time(True)
    )


def _with_what_all_have(builder: Any, panel: Panel) -> Any:
    builder = (
        builder.title(panel.title)
        .description(panel.description)
        .datasource(DATASOURCE)
        .unit(panel.unit)
        .no_value(panel.no_value)
        .span(panel.width)
        .height(_HEIGHTS.get(panel.kind, _HEIGHT))
        .interval(_LEAST_STEP)
    )
    if panel.decimals is not None:
        builder = builder.decimals(panel.decimals)
    for ref_id, query in zip(ascii_uppercase, panel.queries, strict=False):
        builder = builder.with_target(_target(query, panel.kind).ref_id(ref_id))
    return builder


def _target(query: Query, kind: Kind) -> prometheus.Dataquery:
    target = prometheus.Dataquery().expr(query.expr).legend_format(query.legend)
    if kind.is_over_the_range:
        return target.instant()
    if kind is Kind.HEATMAP:
        return target.range().format(PromQueryFormat.HEATMAP)
    return target.range().exemplar(query.has_exemplars)


def _last_value() -> common.ReduceDataOptions:
    return common.ReduceDataOptions().calcs(["lastNotNull"]).values(False)


def _tile(panel: Panel) -> stat.Panel:
    builder: stat.Panel = _with_what_all_have(stat.Panel(), panel)
    builder = (
        builder.reduce_options(_last_value())
        .graph_mode(BigValueGraphMode.NONE)
        .color_mode(BigValueColorMode.VALUE)
        .text_mode(BigValueTextMode.VALUE_AND_NAME)
    )
    if panel.warn is None:
        return builder.color_scheme(
            build.FieldColor().mode(FieldColorModeId.FIXED).fixed_color("text")
        )
    orange, red = panel.warn
    steps = [
        Threshold(value=None, color="green"),
        Threshold(value=orange, color="orange"),
        Threshold(value=red, color="red"),
    ]
    return builder.thresholds(
        build.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)
    ).color_scheme(build.FieldColor().mode(FieldColorModeId.THRESHOLDS))


def _bars(panel: Panel) -> bargauge.Panel:
    builder: bargauge.Panel = _with_what_all_have(bargauge.Panel(), panel)
    builder = (
        builder.reduce_options(_last_value())
        .orientation(VizOrientation.HORIZONTAL)
        .display_mode(BarGaugeDisplayMode.BASIC)
        .min(0)
        .color_scheme(build.FieldColor().mode(FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
    )
    return _in_colours_of_phases(builder)


def _heatmap(panel: Panel) -> heatmap.Panel:
    builder: heatmap.Panel = _with_what_all_have(heatmap.Panel(), panel)
    return (
        builder.calculate(False)
        .color(heatmap.HeatmapColorOptions().mode(HeatmapColorMode.SCHEME).scheme("Oranges"))
        .y_axis(heatmap.YAxisConfig().unit(panel.unit))
        .exemplars_color("rgba(255,0,255,0.7)")
    )


def _over_time(panel: Panel) -> timeseries.Panel:
    builder: timeseries.Panel = _with_what_all_have(timeseries.Panel(), panel)
    return (
        builder.min(0)
        .legend(
            common.VizLegendOptions()
            .display_mode(LegendDisplayMode.LIST)
            .placement(LegendPlacement.BOTTOM)
            .show_legend(True)
        )
        .tooltip(common.VizTooltipOptions().mode(TooltipDisplayMode.MULTI))
        .color_scheme(build.FieldColor().mode(FieldColorModeId.PALETTE_CLASSIC_BY_NAME))
    )


def _lines(panel: Panel) -> timeseries.Panel:
    return (
        _over_time(panel)
        .draw_style(GraphDrawStyle.LINE)
        # Few calls: points that nothing connects, and gaps that are no end.
        .show_points(VisibilityMode.ALWAYS)
        .point_size(_POINT_SIZE)
        .span_nulls(True)
    )


def _steps(panel: Panel) -> timeseries.Panel:
    return _lines(panel).line_interpolation(LineInterpolation.STEP_AFTER).span_nulls(False)


def _stack(panel: Panel) -> timeseries.Panel:
    return _stacked(panel, StackingMode.NORMAL)


def _shares(panel: Panel) -> timeseries.Panel:
    return _stacked(panel, StackingMode.PERCENT)


def _stacked(panel: Panel, mode: StackingMode) -> timeseries.Panel:
    builder = (
        _over_time(panel)
        .draw_style(GraphDrawStyle.BARS)
        .fill_opacity(_FILLED)
        .line_width(0)
        .stacking(common.StackingConfig().mode(mode).group("A"))
    )
    return _in_colours_of_phases(builder)


def _in_colours_of_phases(builder: _Builder) -> _Builder:
    for legend, colour in colours_by_legend().items():
        fixed = DynamicConfigValue(id_val="color", value={"mode": "fixed", "fixedColor": colour})
        builder.override_by_name(legend, [fixed])
    return builder


_BUILDERS: dict[Kind, Callable[[Panel], Any]] = {
    Kind.TILE: _tile,
    Kind.BARS: _bars,
    Kind.LINES: _lines,
    Kind.STEPS: _steps,
    Kind.STACK: _stack,
    Kind.SHARES: _shares,
    Kind.HEATMAP: _heatmap,
}
