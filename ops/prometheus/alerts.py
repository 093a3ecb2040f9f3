"""The alerts of delivery and of the processes. `page` notifies somebody at once, `ticket` on the next working day.

One relay shows the observer's gauges, and for a moment two do when another takes over: hence `max`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple


class Alert(NamedTuple):
    """`name` without the prefix; its runbook is named after it. `wait` is how long the expression must hold."""

    name: str
    expr: str
    wait: str
    severity: str
    summary: str
    labels: Mapping[str, str] = MappingProxyType({})


_ATTEMPTS: Final = "sum(rate(leadwire_delivery_attempts_total[5m]))"
_ROLES: Final = ("serve", "relay", "deliver", "background")

DELIVERY: Final = (
    Alert(
        "NothingKnown",
        "absent(leadwire_database_up)",
        "3m",
        "page",
        "No relay reports the state of delivery: the other alerts about delivery cannot fire.",
    ),
    Alert("DatabaseDown", "max(leadwire_database_up) == 0", "1m", "page", "PostgreSQL does not answer the relay."),
    Alert(
        "WritesRefused",
        "max by (reason) (leadwire_writes_refused) > 2",
        "2m",
        "page",
        "PostgreSQL has refused {{ $value }} changes of a process within a minute: {{ $labels.reason }}.",
    ),
    Alert(
        "RedisDown", "max(leadwire_redis_up) == 0", "1m", "page", "Redis does not answer the relay, or takes no writes."
    ),
    Alert(
        "EventsUnrelayed",
        "max(leadwire_unrelayed_oldest_seconds) > 30",
        "1m",
        "page",
        "Committed events wait {{ $value | humanizeDuration }} for the relay.",
    ),
    Alert(
        "DeliveriesOverdue",
        'max(leadwire_waiting_overdue_oldest_seconds{held_by="nothing"}) > 60',
        "2m",
        "page",
        "A delivery is {{ $value | humanizeDuration }} past its due time, and its endpoint does not hold it back.",
    ),
    Alert(
        "WorkersIdle",
        f"max(sum without (shard) (leadwire_stream_length)) > 0 and on () ({_ATTEMPTS} or vector(0)) == 0",
        "3m",
        "page",
        "{{ $value }} entries are in the streams and nothing is being sent.",
    ),
    Alert(
        "NothingDelivered",
        "max by (cause) (leadwire_endpoints_failing_ratio) > 0.5",
        "1m",
        "page",
        "{{ $value | humanizePercentage }} of the endpoints tried lately fail, most of them {{ $labels.cause }}.",
    ),
    Alert(
        "EntriesHeld",
        "max(leadwire_stream_pending_idle_seconds) > 150",
        "1m",
        "page",
        "A worker that is silent has held an entry for {{ $value | humanizeDuration }}, and no other takes it over.",
    ),
    Alert(
        "WorkersBehind",
        "max(leadwire_stream_oldest_seconds) > 60",
        "5m",
        "ticket",
        "An entry has been in its stream for {{ $value | humanizeDuration }} and no worker reads it.",
    ),
    Alert(
        "WorkerWedged",
        "leadwire_deliveries_in_hand > 0 and on (job, instance)"
        " sum by (job, instance) (rate(leadwire_delivery_attempts_total[5m])) == 0",
        "3m",
        "page",
        "{{ $labels.instance }} has {{ $value }} POSTs in progress and finishes none.",
    ),
    Alert(
        "EndpointBacklog",
        'max(leadwire_waiting_overdue_oldest_seconds{held_by="endpoint"}) > 1800',
        "10m",
        "ticket",
        "A receiver is {{ $value | humanizeDuration }} behind with its deliveries.",
    ),
    Alert(
        "SnapshotHeld",
        "max(leadwire_oldest_snapshot_seconds) > 1800"
        ' or max(leadwire_oldest_snapshot_transactions{held_by=~"slot|standby"}) > 500000',
        "5m",
        "ticket",
        "An old snapshot keeps dead rows from being removed: deliveries and jobs cost more and more.",
    ),
    Alert(
        "SlotBehind",
        "max(leadwire_slot_retained_bytes) > 8 * 1024 ^ 3",
        "10m",
        "ticket",
        "PostgreSQL keeps {{ $value | humanize1024 }}B of its log for a replication slot: its disk fills up.",
    ),
    Alert(
        "FeedHeldBack",
        "max(leadwire_feed_held_back_seconds) > 60",
        "1m",
        "ticket",
        "`/v1/events` shows nothing of the last {{ $value | humanizeDuration }}: a change is not committed.",
    ),
    Alert(
        "LedgerImbalance",
        "max by (check) (leadwire_ledger_imbalance) > 0",
        "3m",
        "page",
        "The ledger is not balanced: {{ $value }} times {{ $labels.check }}.",
    ),
    Alert(
        "ServerChanged",
        "min(leadwire_server_changed_seconds) < 86400",
        "0m",
        "ticket",
        "The database became another server {{ $value | humanizeDuration }} ago; the last changes may be lost.",
    ),
    Alert(
        "DeliverySetAside",
        "max(leadwire_deliveries_aside) > 0",
        "0m",
        "page",
        "{{ $value }} deliveries that crashed several workers, or events that cannot be relayed, were set aside.",
    ),
    Alert(
        "DeadLettersRising",
        "sum(increase(leadwire_dead_letters_made_total[1h])) > 100",
        "0m",
        "ticket",
        "{{ $value | humanize }} deliveries became dead letters within an hour.",
    ),
    Alert(
        "MailsDead",
        'sum(increase(leadwire_mails_total{state="dead"}[1h])) > 5',
        "0m",
        "ticket",
        "{{ $value | humanize }} mails were given up within an hour.",
    ),
    Alert(
        "EndpointDisabled",
        "sum by (reason) (increase(leadwire_endpoints_disabled_total[1h])) > 0",
        "0m",
        "ticket",
        "A customer's endpoint was disabled: {{ $labels.reason }}.",
    ),
    Alert(
        "EntriesReclaimed",
        "sum(increase(leadwire_stream_entries_reclaimed_total[15m]))"
        " + sum(increase(leadwire_attempts_fenced_total[15m])) > 20",
        "0m",
        "ticket",
        "Workers die or lose their leases: {{ $value | humanize }} entries were taken over.",
    ),
    Alert(
        "DeliveriesReconciled",
        "sum(increase(leadwire_deliveries_reconciled_total[15m])) > 0",
        "0m",
        "ticket",
        "Redis lost {{ $value | humanize }} entries; they were queued again.",
    ),
    Alert(
        "PartitionsMissing",
        "max(leadwire_partitions_ahead) < 3",
        "2h",
        "ticket",
        "The event tables have partitions for {{ $value }} days only.",
    ),
    Alert(
        "PartitionsOverdue",
        "max(leadwire_partitions_overdue) > 3",
        "6h",
        "ticket",
        "{{ $value }} days are kept past retention.",
    ),
)

PROCESSES: Final = (
    Alert(
        "ProcessMissing",
        " or ".join(f'absent(leadwire_build_info{{role="{role}"}})' for role in _ROLES),
        "2m",
        "page",
        "No `leadwire {{ $labels.role }}` runs.",
    ),
    Alert("TargetDown", 'up{job="leadwire"} == 0', "5m", "ticket", "{{ $labels.instance }} does not answer."),
    Alert(
        "ProcessRestarting",
        'changes(process_start_time_seconds{job="leadwire"}[30m]) > 3',
        "0m",
        "ticket",
        "{{ $labels.instance }} was started {{ $value }} times within half an hour.",
    ),
    Alert(
        "LoopFailing",
        "sum by (loop) (rate(leadwire_loop_failures_total[5m])) > 0",
        "10m",
        "ticket",
        "The loop `{{ $labels.loop }}` has been failing for ten minutes.",
    ),
    Alert(
        "JobsLate",
        "max by (kind) (leadwire_jobs_oldest_seconds) > 900",
        "5m",
        "ticket",
        "A job of the kind `{{ $labels.kind }}` has been due for {{ $value | humanizeDuration }}.",
    ),
    Alert(
        "JobsFailed",
        "max by (kind) (leadwire_jobs_failed) > 0",
        "5m",
        "ticket",
        "{{ $value }} jobs of the kind `{{ $labels.kind }}` were given up.",
    ),
    Alert(
        "LogLinesDropped",
        "sum by (job, instance) (increase(leadwire_log_lines_dropped_total[10m])) > 0",
        "5m",
        "ticket",
        "{{ $labels.instance }} has dropped log lines: nobody reads its standard error.",
    ),
    Alert(
        "PoolExhausted",
        'max by (job, instance) (leadwire_db_connections{state="awaited"}) > 0',
        "5m",
        "ticket",
        "{{ $value }} callers in {{ $labels.instance }} wait for a database connection.",
    ),
    Alert(
        "ApiSlow",
        "histogram_quantile(0.99, sum by (le) (rate(leadwire_http_request_duration_seconds_bucket[10m]))) > 1"
        " and on () sum(rate(leadwire_http_requests_total[10m])) > 0.1",
        "10m",
        "ticket",
        "One in a hundred requests takes longer than {{ $value | humanizeDuration }}.",
    ),
)
