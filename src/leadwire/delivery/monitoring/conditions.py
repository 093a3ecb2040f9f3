"""The conditions that need somebody, told by the gauges that the observer shows: `ops.prometheus` makes alerts of them,
and the page System shows those that hold. What takes counters of many processes to tell is an alert only.

The observer keeps in Redis which conditions hold, and since when; another that takes over goes on with that.
"""

import re
import time
from datetime import datetime
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec import Struct
from redis.asyncio import Redis

from leadwire.infrastructure import clock
from leadwire.infrastructure.telemetry.metrics import GAUGES, PREFIX

Severity = Literal["page", "ticket"]
"""`page`: somebody is called at once; `ticket`: on the next working day."""

_KEY: Final = "leadwire:conditions"
_KEPT: Final = 600  # seconds
_FRESH: Final = 30.0  # seconds; an observer looks every 5 s
_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE


class Condition(NamedTuple):
    """The greatest value of a gauge is above a limit, or below it, for `wait` seconds. It has the name of its alert.

    `says` has a place for the value in its unit (`count`, `duration`, `bytes`, `percent`), and one for the `label` that
    it is told apart by. `of` selects series: a label, and its values between bars. `command` helps to find the cause.
    """

    name: str
    gauge: str
    limit: float
    wait: int
    severity: Severity
    says: str
    relation: Literal[">", "<"] = ">"
    by: str = ""
    of: tuple[str, str] = ("", "")
    command: str = "leadwire doctor"

    def values(self) -> dict[str, float]:
        """What holds now, by the label that it is told apart by."""
        gauge = GAUGES[PREFIX + self.gauge]
        worst: dict[str, float] = {}
        for labels, value in gauge.values().items():
            named = dict(zip(gauge.labels, labels, strict=True))
            if not self.of[0] or named[self.of[0]] in self.of[1].split("|"):
                label = named.get(self.by, "")
                worst[label] = max(value, worst.get(label, value))
        above = self.relation == ">"
        return {label: value for label, value in worst.items() if (value > self.limit if above else value < self.limit)}


CONDITIONS: Final = (
    Condition("DatabaseDown", "database_up", 1, _MINUTE, "page", "PostgreSQL does not answer the relay.", "<"),
    Condition(
        "RedisDown", "redis_up", 1, _MINUTE, "page", "Redis does not answer the relay, or takes no writes.", "<"
    ),
    Condition(
        "WritesRefused", "writes_refused", 2, 2 * _MINUTE, "page",
        "PostgreSQL has refused {count} changes of a process within a minute: {label}.", by="reason",
    ),
    Condition(
        "EventsUnrelayed", "unrelayed_oldest_seconds", 30, _MINUTE, "page",
        "Committed events wait {duration} for the relay.", command="leadwire status --watch",
    ),
    Condition(
        "DeliveriesOverdue", "waiting_overdue_oldest_seconds", 60, 2 * _MINUTE, "page",
        "A delivery is {duration} past its due time, and its endpoint does not hold it back.",
        of=("held_by", "nothing"), command="leadwire status --watch",
    ),
    Condition(
        "NothingDelivered", "endpoints_failing_ratio", 0.5, _MINUTE, "page",
        "{percent} of the endpoints tried lately fail, most of them {label}.", by="cause",
        command="leadwire doctor --egress",
    ),
    Condition(
        "EntriesHeld", "stream_pending_idle_seconds", 150, _MINUTE, "page",
        "A worker that is silent has held an entry for {duration}, and no other takes it over.",
        command="leadwire status",
    ),
    Condition(
        "WorkersBehind", "stream_oldest_seconds", 60, 5 * _MINUTE, "ticket",
        "An entry has been in its stream for {duration} and no worker reads it.", command="leadwire status --watch",
    ),
    Condition(
        "EndpointBacklog", "waiting_overdue_oldest_seconds", 1800, 10 * _MINUTE, "ticket",
        "A receiver is {duration} behind with its deliveries.", of=("held_by", "endpoint"), command="leadwire status",
    ),
    Condition(
        "SnapshotHeld", "oldest_snapshot_seconds", 1800, 5 * _MINUTE, "ticket",
        "An old snapshot keeps dead rows from being removed for {duration}: deliveries and jobs cost more and more.",
    ),
    Condition(
        "SnapshotHeld", "oldest_snapshot_transactions", 500_000, 5 * _MINUTE, "ticket",
        "A snapshot {count} transactions old keeps dead rows from being removed: deliveries cost more and more.",
        of=("held_by", "slot|standby"),
    ),
    Condition(
        "SlotBehind", "slot_retained_bytes", 8 * 2**30, 10 * _MINUTE, "ticket",
        "PostgreSQL keeps {bytes} of its log for a replication slot: its disk fills up.",
    ),
    Condition(
        "FeedHeldBack", "feed_held_back_seconds", 60, _MINUTE, "ticket",
        "/v1/events shows nothing of the last {duration}: a change is not committed.",
    ),
    Condition(
        "LedgerImbalance", "ledger_imbalance", 0, 3 * _MINUTE, "page",
        "The ledger is not balanced: {count} times {label}.", by="check", command="leadwire ledger",
    ),
    Condition(
        "ServerChanged", "server_changed_seconds", 24 * _HOUR, 0, "ticket",
        "The database became another server {duration} ago; the last changes may be lost.", "<",
        command="leadwire ledger",
    ),
    Condition(
        "DeliverySetAside", "deliveries_aside", 0, 0, "page",
        "{count} deliveries that crashed several workers, or events that cannot be relayed, were set aside.",
        command="leadwire set-aside list",
    ),
    Condition(
        "PartitionsMissing", "partitions_ahead", 3, 2 * _HOUR, "ticket",
        "The event tables have partitions for {count} days only.", "<",
    ),
    Condition(
        "PartitionsOverdue", "partitions_overdue", 3, 6 * _HOUR, "ticket", "{count} days are kept past retention."
    ),
    Condition(
        "JobsLate", "jobs_oldest_seconds", 900, 5 * _MINUTE, "ticket",
        "A job of the kind {label} has been due for {duration}.", by="kind", command="leadwire jobs list",
    ),
    Condition(
        "JobsFailed", "jobs_failed", 0, 5 * _MINUTE, "ticket", "{count} jobs of the kind {label} were given up.",
        by="kind", command="leadwire jobs list --state failed",
    ),
)  # fmt: skip


class Firing(Struct, frozen=True):
    """What the page System shows. Its runbook is a page at /docs."""

    name: str
    severity: Severity
    says: str
    command: str
    since: datetime | None = None
    """None: not known."""

    @property
    def runbook(self) -> str:
        return runbook(self.name)


class Held(Struct, frozen=True):
    """A condition that holds, its value, and since when. It is firing once it has held for its `wait`."""

    name: str
    gauge: str
    label: str
    value: float
    since: float


class Noted(Struct):
    """What an observer has found, and when."""

    at: float
    held: list[Held]


async def note(redis: Redis) -> None:
    """Keep which conditions hold now. Raise what Redis raises."""
    text = await redis.get(_KEY)
    before = msgspec.json.decode(text, type=Noted).held if text else []
    since = {(one.name, one.gauge, one.label): one.since for one in before}
    now = time.time()
    held = [
        Held(one.name, one.gauge, label, value, since.get((one.name, one.gauge, label), now))
        for one in CONDITIONS
        for label, value in one.values().items()
    ]
    await redis.set(_KEY, msgspec.json.encode(Noted(now, held)), ex=_KEPT)


async def firing(redis: Redis) -> list[Firing] | None:
    """Return what has held for long enough, pages first; None when no observer looks. Raise what Redis raises."""
    text = await redis.get(_KEY)
    noted = msgspec.json.decode(text, type=Noted) if text else None
    now = time.time()
    if noted is None or now - noted.at > _FRESH:
        return None
    known = {(one.name, one.gauge): one for one in CONDITIONS}  # a relay of another version may have others
    found = [(known[held.name, held.gauge], held) for held in noted.held if (held.name, held.gauge) in known]
    firing = [
        Firing(one.name, one.severity, _words(one, held), one.command, clock.from_unix(held.since))
        for one, held in found
        if now - held.since >= one.wait
    ]
    return sorted(firing, key=lambda one: one.severity)  # `page` is first


def runbook(name: str) -> str:
    """The page that says what to do about an alert: that of `RedisDown` is `redis-down`."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", name).lower()


def _words(one: Condition, held: Held) -> str:
    value = held.value
    return one.says.format(
        count=f"{value:,.0f}",
        duration=duration(value),
        bytes=f"{value / 2**30:.1f} GiB",
        percent=f"{value:.0%}",
        label=held.label,
    )


def duration(seconds: float) -> str:
    """`5 s`, `12 min`, `3.5 h`."""
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    return f"{seconds / _MINUTE:.0f} min" if seconds < 2 * _HOUR else f"{seconds / _HOUR:.1f} h"
