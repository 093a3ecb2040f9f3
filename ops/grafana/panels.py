"""The panels and queries that Leadwire's dashboards are made of."""

import itertools
from collections.abc import Sequence
from typing import Final

from grafana_foundation_sdk.builders import common, dashboard, prometheus, stat, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common as models
from grafana_foundation_sdk.models.dashboard import (
    AnnotationQuery,
    Dashboard,
    DashboardCursorSync,
    DashboardLinkType,
    DataSourceRef,
    Threshold,
    ThresholdsMode,
)

_SOURCE: Final = DataSourceRef(type_val="prometheus", uid="${source}")

Panel = stat.Panel | timeseries.Panel
Query = tuple[str, str]
"""The legend of a query and its expression."""


def number(title: str, expression: str, about: str, *, unit: str = "short", bad: float | None = None) -> Panel:
    """One number, red from `bad` on. Eight of them fill a row."""
    reduced = common.ReduceDataOptions().calcs(["lastNotNull"])
    panel = stat.Panel().reduce_options(reduced).color_mode(models.BigValueColorMode.BACKGROUND)
    panel.graph_mode(models.BigValueGraphMode.AREA).span(3).height(4)
    return _filled(panel, title, [("", expression)], about, unit, bad)


def graph(
    title: str,
    *queries: Query,
    about: str,
    unit: str = "short",
    bad: float | None = None,
    stacked: bool = False,
    wide: int = 8,
) -> Panel:
    """Lines over time, with one more at `bad`."""
    legend = common.VizLegendOptions().show_legend(True).display_mode(models.LegendDisplayMode.LIST)
    legend.placement(models.LegendPlacement.BOTTOM)
    tooltip = common.VizTooltipOptions().mode(models.TooltipDisplayMode.MULTI).sort(models.SortOrder.DESCENDING)
    panel = timeseries.Panel().legend(legend).tooltip(tooltip)
    panel.line_width(2).fill_opacity(10).show_points(models.VisibilityMode.NEVER).span_nulls(False)
    if stacked:
        panel.stacking(common.StackingConfig().mode(models.StackingMode.NORMAL).group("A"))
    if bad is not None:
        panel.thresholds_style(common.GraphThresholdsStyleConfig().mode(models.GraphThresholdsStyleMode.LINE))
    return _filled(panel.span(wide).height(8), title, queries, about, unit, bad)


def rate(metric: str, by: str = "", *, only: str = "") -> Query:
    """How often a second, for each value of the label `by`."""
    group = f" by ({by})" if by else ""
    return (f"{{{{{by}}}}}" if by else "all"), f"sum{group} (rate({metric}{{{only}}}[$__rate_interval]))"


def quantiles(metric: str, *which: float, by: str = "", only: str = "") -> list[Query]:
    """Of a histogram, for each value of the label `by`."""
    group, legend = (f"le, {by}", f" {{{{{by}}}}}") if by else ("le", "")
    buckets = f"sum by ({group}) (rate({metric}_bucket{{{only}}}[$__rate_interval]))"
    return [(f"p{share * 100:g}{legend}", f"histogram_quantile({share}, {buckets})") for share in which]


def board(name: str, title: str, *rows: list[Panel]) -> Dashboard:
    """A dashboard of rows of panels, each as wide as the page."""
    firing = 'ALERTS{alertname=~"Leadwire.*", alertstate="firing"}'
    alerts = _Alerts(name="Alerts", datasource=_SOURCE, enable=True, icon_color="red", expr=firing)
    link = dashboard.DashboardLink("Leadwire").type(DashboardLinkType.DASHBOARDS).tags(["leadwire"])
    source = dashboard.DatasourceVariable("source").label("Data source").type("prometheus")
    made = dashboard.Dashboard(f"Leadwire / {title}").uid(f"leadwire-{name}").tags(["leadwire"]).readonly()
    made.refresh("30s").time("now-3h", "now").timezone("browser").tooltip(DashboardCursorSync.CROSSHAIR).version(1)
    made.with_variable(source).annotation(alerts).link(link.include_vars(True).keep_time(True))
    for number, panel in enumerate(itertools.chain(*rows), 1):
        made.with_panel(panel.id(number))
    return made.build()


def text(board: Dashboard) -> str:
    """The file that Grafana reads."""
    return JSONEncoder(indent=1).encode(board) + "\n"


class _Alerts(AnnotationQuery):
    """Marks with a title, which the library's model lacks."""

    def to_json(self) -> dict[str, object]:
        return {**super().to_json(), "titleFormat": "{{alertname}}"}

    def build(self) -> AnnotationQuery:
        return self


def _filled(panel, title: str, queries: Sequence[Query], about: str, unit: str, bad: float | None) -> Panel:
    steps = [Threshold(value=None, color="green")] + ([] if bad is None else [Threshold(value=bad, color="red")])
    panel.title(title).description(about).datasource(_SOURCE).unit(unit).min(0)
    panel.thresholds(dashboard.ThresholdsConfig().mode(ThresholdsMode.ABSOLUTE).steps(steps)).overrides([])
    for ref, (legend, expression) in zip("ABCDEFGH", queries, strict=False):
        query = prometheus.Dataquery().ref_id(ref).datasource(_SOURCE).expr(expression).legend_format(legend)
        panel.with_target(query)
    return panel
