"""Is all well?"""

from typing import Final

from ops.grafana.panels import board, graph, number, quantiles, rate

_BURNS: Final = (
    ("api, 1 h", "leadwire:api_errors:ratio_rate1h / 0.001"),
    ("api, 6 h", "leadwire:api_errors:ratio_rate6h / 0.001"),
    ("dispatch, 1 h", "leadwire:late_dispatches:ratio_rate1h / 0.01"),
    ("dispatch, 6 h", "leadwire:late_dispatches:ratio_rate6h / 0.01"),
)

OVERVIEW: Final = board(
    "overview",
    "Overview",
    [
        number(
            "Oldest unrelayed", "max(leadwire_unrelayed_oldest_seconds)", "Alert: EventsUnrelayed", unit="s", bad=30
        ),
        number(
            "Furthest overdue",
            'max(leadwire_waiting_overdue_oldest_seconds{held_by="nothing"})',
            "Past its time though nothing of its endpoint holds it. Alert: DeliveriesOverdue",
            unit="s",
            bad=60,
        ),
        number("Oldest in a stream", "max(leadwire_stream_oldest_seconds)", "Alert: WorkersBehind", unit="s", bad=60),
        number("Ledger imbalance", "max(leadwire_ledger_imbalance)", "Anything but 0 is a fault of ours.", bad=1),
        number("Set aside", "max(leadwire_deliveries_aside)", "No worker survived them.", bad=1),
        number("Workers", "max(leadwire_workers)", "That asked for work within 30 s."),
        number("PostgreSQL", "max(leadwire_database_up)", "1: it answers the relay. 0: it does not."),
        number("Redis", "max(leadwire_redis_up)", "1: it answers the relay. 0: it does not."),
    ],
    [
        graph(
            "Events committed",
            rate("leadwire_events_committed_total", "kind"),
            about="By kind.",
            unit="eps",
            stacked=True,
        ),
        graph(
            "POSTs",
            rate("leadwire_delivery_attempts_total", "outcome"),
            about="By outcome.",
            unit="reqps",
            stacked=True,
        ),
        graph(
            "Requests",
            rate("leadwire_http_requests_total", "status"),
            about="Of the API, the widget and the web area, by status.",
            unit="reqps",
            stacked=True,
        ),
    ],
    [
        graph(
            "Recorded to first POST",
            *quantiles("leadwire_dispatch_delay_seconds", 0.5, 0.99),
            about="What is ours of it. The promise: 99 % within 5 s.",
            unit="s",
            bad=5,
        ),
        graph(
            "How fast the allowance is spent",
            *_BURNS,
            about="1 spends it in a month. 14.4 over an hour, or 6 over six hours, pages.",
            bad=14.4,
        ),
        graph(
            "Processes",
            ("{{role}} {{version}}", "sum by (role, version) (leadwire_build_info)"),
            about="That Prometheus reaches.",
        ),
    ],
    [
        graph(
            "Memory",
            ("{{instance}}", 'process_resident_memory_bytes{job="leadwire"}'),
            about="Resident, by process.",
            unit="bytes",
        ),
        graph(
            "CPU",
            ("{{instance}}", 'rate(process_cpu_seconds_total{job="leadwire"}[$__rate_interval])'),
            about="Cores, by process; one process uses one at the most.",
            bad=0.9,
        ),
        graph(
            "Database connections",
            ("{{state}}", "sum by (state) (leadwire_db_connections)"),
            about="`awaited`: callers that wait for one. Alert: PoolExhausted",
        ),
    ],
)
