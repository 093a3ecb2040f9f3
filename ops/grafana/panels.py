"""The parts a dashboard is made of, in Grafana's JSON."""

import json
from typing import Any, Final

_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
_COLUMNS: Final = 24
_LINE: Final = {"lineWidth": 2, "fillOpacity": 10, "showPoints": "never", "spanNulls": False}

Panel = dict[str, Any]
Query = tuple[str, str]
"""The legend of a query and its expression."""


def number(title: str, expression: str, about: str, *, unit: str = "short", bad: float | None = None) -> Panel:
    """One number, red from `bad` on. Four beside each other fill half a row."""
    made = _panel("stat", title, [("", expression)], about, unit, bad, (3, 4))
    made["options"] = {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "background", "graphMode": "area"}
    return made


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
    made = _panel("timeseries", title, list(queries), about, unit, bad, (wide, 8))
    custom: dict[str, Any] = dict(_LINE)
    if stacked:
        custom["stacking"] = {"mode": "normal", "group": "A"}
    if bad is not None:
        custom["thresholdsStyle"] = {"mode": "line"}
    made["fieldConfig"]["defaults"]["custom"] = custom
    made["options"] = {
        "legend": {"displayMode": "list", "placement": "bottom"},
        "tooltip": {"mode": "multi", "sort": "desc"},
    }
    return made


def rate(metric: str, by: str = "", *, only: str = "") -> Query:
    """How often a second, for each value of the label `by`."""
    group = f" by ({by})" if by else ""
    return (f"{{{{{by}}}}}" if by else "all"), f"sum{group} (rate({metric}{{{only}}}[$__rate_interval]))"


def quantiles(metric: str, *which: float, by: str = "", only: str = "") -> list[Query]:
    """Of a histogram, for each value of the label `by`."""
    group, legend = (f"le, {by}", f" {{{{{by}}}}}") if by else ("le", "")
    buckets = f"sum by ({group}) (rate({metric}_bucket{{{only}}}[$__rate_interval]))"
    return [(f"p{share * 100:g}{legend}", f"histogram_quantile({share}, {buckets})") for share in which]


def board(name: str, title: str, *rows: list[Panel]) -> dict[str, Any]:
    """A dashboard of rows of panels. Raises ValueError for a row that is too wide."""
    panels: list[Panel] = []
    top = 0
    for row in rows:
        left = 0
        for panel in row:
            place = {**panel["gridPos"], "x": left, "y": top}
            panels.append({**panel, "id": len(panels) + 1, "gridPos": place})
            left += place["w"]
        if left > _COLUMNS:
            raise ValueError(f"{title}: a row is {left} wide")
        top += max(panel["gridPos"]["h"] for panel in row)
    return {
        "uid": f"leadwire-{name}",
        "title": f"Leadwire / {title}",
        "tags": ["leadwire"],
        "schemaVersion": 39,
        "version": 1,
        "editable": False,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "timezone": "browser",
        "graphTooltip": 1,
        "templating": {
            "list": [{"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"}]
        },
        "annotations": {"list": [_ALERTS]},
        "links": [_LINKS],
        "panels": panels,
    }


def text(board: dict[str, Any]) -> str:
    """The file that Grafana reads."""
    return json.dumps(board, indent=1) + "\n"


_WHICH: Final = {"name": "source", "label": "Data source", "type": "datasource", "query": "prometheus"}
_ALERTS: Final = {
    "name": "Alerts",
    "datasource": _SOURCE,
    "enable": True,
    "iconColor": "red",
    "expr": 'ALERTS{alertname=~"Leadwire.*", alertstate="firing"}',
    "titleFormat": "{{alertname}}",
}
_LINKS: Final = {"type": "dashboards", "tags": ["leadwire"], "title": "Leadwire", "includeVars": True, "keepTime": True}


def _panel(
    kind: str, title: str, queries: list[Query], about: str, unit: str, bad: float | None, size: tuple[int, int]
) -> Panel:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    if bad is not None:
        steps.append({"color": "red", "value": bad})
    targets = [
        {"refId": chr(ord("A") + place), "datasource": _SOURCE, "expr": expression, "legendFormat": legend}
        for place, (legend, expression) in enumerate(queries)
    ]
    return {
        "type": kind,
        "title": title,
        "description": about,
        "datasource": _SOURCE,
        "gridPos": {"w": size[0], "h": size[1]},
        "targets": targets,
        "fieldConfig": {
            "defaults": {"unit": unit, "min": 0, "thresholds": {"mode": "absolute", "steps": steps}},
            "overrides": [],
        },
    }
