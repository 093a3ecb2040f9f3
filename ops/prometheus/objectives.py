"""Service level objectives, and how fast their error budgets may be spent (Google's SRE Workbook, chapter 5).

A customer's server that fails or hangs spends none of it.
"""

from typing import Final, NamedTuple

from ops.prometheus.alerts import Alert

DAYS: Final = 30  # over which a promise is kept


class Objective(NamedTuple):
    """`bad` and `every` are rates over a window, written `{w}`; the promise is that at most 1 - `goal` are bad."""

    name: str
    alert: str
    goal: float
    promise: str
    bad: str
    every: str


# Each is a 503 before there is a request. An address that has too many connections is refused for what it does.
_REFUSED: Final = 'rate(leadwire_connections_refused_total{{limit="process"}}[{w}])'
_DISPATCHED: Final = "sum(rate(leadwire_dispatch_delay_seconds_count[{w}]))"

OBJECTIVES: Final = (
    Objective(
        "api_errors",
        "ApiErrors",
        0.999,
        "99.9 % of requests are answered without a 5xx",
        f'sum(rate(leadwire_http_requests_total{{{{status=~"5.."}}}}[{{w}}]) or {_REFUSED})',
        f"sum(rate(leadwire_http_requests_total[{{w}}]) or {_REFUSED})",
    ),
    Objective(
        "late_dispatches",
        "LateDispatches",
        0.99,
        "99 % of events have their first POST within 5 s",
        _DISPATCHED + ' - sum(rate(leadwire_dispatch_delay_seconds_bucket{{le="5.0"}}[{w}]))',
        _DISPATCHED,
    ),
)

WINDOWS: Final = {"5m": 300, "30m": 1800, "1h": 3600, "2h": 7200, "6h": 21_600, "1d": 86_400, "3d": 259_200}
"""The windows that are recorded, and their seconds."""


class Burn(NamedTuple):
    """The error budget is spent `factor` times too fast, over a long window and still over a short one."""

    long: str
    short: str
    factor: float
    severity: str


BURNS: Final = (
    Burn("1h", "5m", 14.4, "page"),  # 2 % of a month's error budget in an hour
    Burn("6h", "30m", 6, "page"),  # 5 %
    Burn("1d", "2h", 3, "ticket"),  # 10 %
    Burn("3d", "6h", 1, "ticket"),
)
_FEW: Final = 10  # bad ones in the long window that raise no alert: at night one of three requests is a third


def recorded() -> list[dict[str, str]]:
    """The share of bad ones over each window; absent while there were none at all."""
    return [
        {
            "record": f"leadwire:{one.name}:ratio_rate{window}",
            # A counter of 5xx is not there before the first of them.
            "expr": f"(({one.bad.format(w=window)}) or vector(0)) / ({one.every.format(w=window)} > 0)",
        }
        for one in OBJECTIVES
        for window in WINDOWS
    ]


def alerts() -> list[Alert]:
    """One for each promise and speed."""
    return [_alert(one, burn) for one in OBJECTIVES for burn in BURNS]


def _alert(one: Objective, burn: Burn) -> Alert:
    limit = f"{burn.factor * (1 - one.goal):.6g}"
    ratio = f"leadwire:{one.name}:ratio_rate"
    many = f"({one.bad.format(w=burn.long)}) * {WINDOWS[burn.long]} > {_FEW}"
    return Alert(
        one.alert,
        f"{ratio}{burn.long} > {limit} and {ratio}{burn.short} > {limit} and {many}",
        "2m",
        burn.severity,
        f"{one.promise}: over {burn.long} the error budget was spent {burn.factor:g} times too fast.",
        {"window": burn.long},
    )
