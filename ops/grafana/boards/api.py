"""Who waits for the API, and what do they get?"""

from typing import Final

from ops.grafana.panels import board, graph, quantiles, rate

API: Final = board(
    "api",
    "API",
    [
        graph(
            "Requests by route",
            rate("leadwire_http_requests_total", "route"),
            about="`unmatched`: no such path.",
            unit="reqps",
            stacked=True,
            wide=12,
        ),
        graph(
            "Requests by status",
            rate("leadwire_http_requests_total", "status"),
            about="All routes.",
            unit="reqps",
            stacked=True,
            wide=12,
        ),
    ],
    [
        graph(
            "Time to the answer",
            *quantiles("leadwire_http_request_duration_seconds", 0.5, 0.9, 0.99),
            about="To the head of the answer; of a stream, too.",
            unit="s",
            bad=1,
        ),
        graph(
            "p99 by route",
            *quantiles("leadwire_http_request_duration_seconds", 0.99, by="route"),
            about="Alert: ApiSlow",
            unit="s",
        ),
        graph(
            "5xx by route",
            rate("leadwire_http_requests_total", "route", only='status=~"5.."'),
            about="The promise: 99.9 % without.",
            unit="reqps",
            stacked=True,
        ),
    ],
    [
        graph(
            "4xx by status",
            rate("leadwire_http_requests_total", "status", only='status=~"4.."'),
            about="401 and 429 in numbers: somebody tries keys, or a client does not wait.",
            unit="reqps",
            stacked=True,
        ),
        graph(
            "Commit of an event",
            *quantiles("leadwire_hop_duration_seconds", 0.5, 0.99, only='hop="commit"'),
            about="From recording an event to its transaction's commit.",
            unit="s",
        ),
        graph(
            "Database connections",
            ("{{instance}} {{state}}", 'leadwire_db_connections{state=~"used|awaited|limit"}'),
            about="By process.",
        ),
    ],
)
