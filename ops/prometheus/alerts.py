"""The alerts of delivery and of the processes: the product's conditions, and what takes Prometheus to tell.

`page` notifies somebody at once, `ticket` on the next working day. One relay shows the observer's gauges, and for a
moment two do when another takes over: hence `max`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from leadwire.delivery.monitoring import conditions
from leadwire.delivery.monitoring.conditions import Condition


class Alert(NamedTuple):
    """`name` without the prefix; its runbook is named after it. `wait` is how long the expression must hold."""

    name: str
    expr: str
    wait: str
    severity: str
    summary: str
    labels: Mapping[str, str] = MappingProxyType({})


_ATTEMPTS: Final = "sum(rate(leadwire_delivery_attempts_total[2m]))"
_ROLES: Final = ("serve", "relay", "deliver", "background")

_IN_WORDS: Final = {
    "count": "{{ $value }}",
    "duration": "{{ $value | humanizeDuration }}",
    "bytes": "{{ $value | humanize1024 }}B",
    "percent": "{{ $value | humanizePercentage }}",
}


def _of(one: Condition) -> Alert:
    label, values = one.of
    series = f"leadwire_{one.gauge}" + (f'{{{label}=~"{values}"}}' if label else "")
    most = f"max by ({one.by})" if one.by else "max"
    summary = one.says.format(**_IN_WORDS, label=f"{{{{ $labels.{one.by} }}}}")
    alike = [other.gauge for other in conditions.CONDITIONS if other.name == one.name]
    return Alert(
        one.name,
        f"{most} ({series}) {one.relation} {one.limit:.12g}",
        f"{one.wait}s",
        one.severity,
        summary,
        {"gauge": one.gauge} if len(alike) > 1 else {},  # rules of one name need labels that differ
    )


CONDITIONS: Final = tuple(_of(one) for one in conditions.CONDITIONS)

DELIVERY: Final = (
    Alert(
        "NothingKnown",
        "absent(leadwire_database_up)",
        "3m",
        "page",
        "No relay reports the state of delivery: the other alerts about delivery cannot fire.",
    ),
    Alert(
        "WorkersIdle",
        f"max(sum without (shard) (leadwire_stream_length)) > 0 and on () ({_ATTEMPTS} or vector(0)) == 0",
        "2m",
        "page",
        "{{ $value }} entries are in the streams and nothing is being sent.",
    ),
    Alert(
        "WorkerWedged",
        "leadwire_deliveries_in_hand > 0 and on (job, instance)"
        " sum by (job, instance) (rate(leadwire_delivery_attempts_total[2m])) == 0",
        "2m",
        "page",
        "{{ $labels.instance }} has {{ $value }} POSTs in progress and finishes none.",
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
