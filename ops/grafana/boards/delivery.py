"""Where does an event stop, and what went another way?"""

from typing import Final

from ops.grafana.panels import board, graph, quantiles, rate

_BUILT: Final = "sum(rate(leadwire_transport_clients_built_total[$__rate_interval]))"
_ATTEMPTS: Final = "sum(rate(leadwire_delivery_attempts_total[$__rate_interval]))"

DELIVERY: Final = board(
    "delivery",
    "Delivery",
    [
        graph(
            "p99 at each hop",
            *quantiles("leadwire_hop_duration_seconds", 0.99, by="hop"),
            about="commit: recording to committed. relay: recording to fanned out, of events left to the relay. claim:"
            " queued to claimed."
            " send: the POST, mostly the receiver's time. record: answer to written down.",
            unit="s",
            wide=12,
        ),
        graph(
            "Recorded to delivered",
            *quantiles("leadwire_end_to_end_seconds", 0.5, 0.9, 0.99),
            about="Retries included.",
            unit="s",
            wide=12,
        ),
    ],
    [
        graph(
            "Where they are",
            ("unrelayed events", "max(leadwire_unrelayed_events)"),
            ("waiting", "max(leadwire_deliveries_waiting)"),
            ("queued", "max(leadwire_deliveries_queued)"),
            ("overdue: {{held_by}}", "max by (held_by) (leadwire_waiting_overdue)"),
            about="Counted to 10,000.",
        ),
        graph(
            "Streams",
            ("length {{shard}}", "max by (shard) (leadwire_stream_length)"),
            ("unread {{shard}}", "max by (shard) (leadwire_stream_lag)"),
            ("held {{shard}}", "max by (shard) (leadwire_stream_pending)"),
            about="Entries, by shard.",
        ),
        graph(
            "Ages",
            ("oldest entry {{shard}}", "max by (shard) (leadwire_stream_oldest_seconds)"),
            ("held longest {{shard}}", "max by (shard) (leadwire_stream_pending_idle_seconds)"),
            ("overdue: {{held_by}}", "max by (held_by) (leadwire_waiting_overdue_oldest_seconds)"),
            about="Beyond the lease (60 s) another worker should have taken an entry over.",
            unit="s",
            bad=60,
        ),
    ],
    [
        graph(
            "Jobs that wait", ("{{kind}}", "max by (kind) (leadwire_jobs_waiting)"), about="By kind; counted to 10,000."
        ),
        graph(
            "The oldest job",
            ("{{kind}}", "max by (kind) (leadwire_jobs_oldest_seconds)"),
            about="Beyond 15 minutes `JobsLate` tells.",
            unit="s",
            bad=900,
        ),
        graph("Jobs given up", ("{{kind}}", "max by (kind) (leadwire_jobs_failed)"), about="`leadwire jobs retry`."),
    ],
    [
        graph(
            "Calls of jobs, p99",
            *quantiles("leadwire_job_duration_seconds", 0.99, by="kind"),
            about="One job or a batch.",
            unit="s",
        ),
        graph("Jobs that failed", rate("leadwire_job_failures_total", by="kind"), about="Each is tried again, alone."),
        graph(
            "Left out of a loop",
            ("{{loop}}", "sum by (loop) (leadwire_loop_resting)"),
            about="Workspaces or endpoints whose part of the rounds fails.",
        ),
    ],
    [
        graph(
            "Places of the workers",
            ("in hand {{instance}}", "leadwire_deliveries_in_hand"),
            ("limit", "max(leadwire_delivery_slots)"),
            ("read ahead {{instance}}", "leadwire_entries_ahead"),
            about="Fast and slow ones: a POST that takes longer than a second moves to a slow place."
            " Read ahead: entries not begun.",
        ),
        graph(
            "p95 of a POST, by outcome",
            *quantiles("leadwire_delivery_attempt_duration_seconds", 0.95, by="outcome"),
            about="The deadline is 30 s.",
            unit="s",
            bad=30,
        ),
        graph(
            "Endpoints",
            ("windows full", "max(leadwire_windows_saturated)"),
            ("host new", "max(leadwire_endpoints_new_host)"),
            ("tried, {{outcome}}", "max by (outcome) (leadwire_endpoints_tried) > 0"),
            ("disabled: {{reason}}", "sum by (reason) (increase(leadwire_endpoints_disabled_total[1h]))"),
            about="Full: as many are queued as workers could take. New: no 2xx has come from there yet. Tried: within"
            " 5 minutes, by the last outcome. Disabled: by the system, within an hour.",
        ),
    ],
    [
        graph(
            "Given up and tried again",
            ("dead: {{reason}}", "sum by (reason) (increase(leadwire_dead_letters_made_total[5m]))"),
            ("retries", "sum(increase(leadwire_deliveries_retried_total[5m]))"),
            ("redriven", "sum(increase(leadwire_deliveries_redriven_total[5m]))"),
            ("automatic {{what}}", "sum by (what) (increase(leadwire_auto_redrives_total[5m]))"),
            ("dead letters there are", "max(leadwire_dead_letters)"),
            about="Within five minutes.",
        ),
        graph(
            "What went another way",
            ("reclaimed", "sum(increase(leadwire_stream_entries_reclaimed_total[5m]))"),
            ("stale", "sum(increase(leadwire_stream_entries_stale_total[5m]))"),
            ("fenced", "sum(increase(leadwire_attempts_fenced_total[5m]))"),
            ("put back", "sum(increase(leadwire_deliveries_put_back_total[5m]))"),
            ("reconciled", "sum(increase(leadwire_deliveries_reconciled_total[5m]))"),
            ("set aside", "sum(increase(leadwire_deliveries_set_aside_total[5m]))"),
            about="Within five minutes. All 0 while nothing dies; put back: workers have read more than they can hold.",
        ),
        graph(
            "Failing loops, log lines dropped",
            rate("leadwire_loop_failures_total", "loop"),
            ("log lines", "sum(rate(leadwire_log_lines_dropped_total[$__rate_interval]))"),
            about="Rounds that failed and are tried again; lines nobody read. Alerts: LoopFailing, LogLinesDropped",
        ),
    ],
    [
        graph(
            "In and out of the relay",
            ("committed", "sum(rate(leadwire_events_committed_total[$__rate_interval]))"),
            ("relayed", "sum(rate(leadwire_events_relayed_total[$__rate_interval]))"),
            ("queued: {{by}}", "sum by (by) (rate(leadwire_stream_entries_added_total[$__rate_interval]))"),
            about="change: by itself. fan_out: by the relay, at once. admit: when their time or their turn came.",
            unit="eps",
        ),
        graph(
            "Share of POSTs on a new client",
            ("", f"{_BUILT} / {_ATTEMPTS}"),
            about="The rest finds its receiver's client, and mostly a connection of it.",
            unit="percentunit",
        ),
        graph(
            "Partitions",
            ("days ahead", "max(leadwire_partitions_ahead)"),
            ("days past retention", "max(leadwire_partitions_overdue)"),
            about="Of the tables that keep events, results and attempts.",
        ),
        graph(
            "Old snapshots",
            ("{{held_by}}, transactions", "max by (held_by) (leadwire_oldest_snapshot_transactions)"),
            ("{{held_by}}, seconds", "max by (held_by) (leadwire_oldest_snapshot_seconds)"),
            about="What keeps dead rows from being removed. Alert: SnapshotHeld",
        ),
        graph(
            "Dead rows, log kept for slots",
            ("{{table}}", "max by (table) (leadwire_dead_rows)"),
            ("slots, MiB", "max(leadwire_slot_retained_bytes) / 1024 ^ 2"),
            about="Of the tables of open work; of the slot that is furthest behind. Alert: SlotBehind",
        ),
        graph(
            "Feed held back",
            ("", "max(leadwire_feed_held_back_seconds)"),
            about="Age of the oldest change that has recorded an event and is not committed. Alert: FeedHeldBack",
            unit="s",
        ),
    ],
)
