"""What must always hold. Each check is a query that must answer 0; together they prove that nothing is missing."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from leadwire.delivery.relay.reconcile import lost
from leadwire.delivery.streams import Load
from leadwire.infrastructure import db

_SETTLING: Final = 60  # seconds that something may be under way before it counts as stuck


class Check(NamedTuple):
    """One invariant and how often it is broken just now."""

    name: str
    meaning: str
    broken: int


_CHECKS: Final = (
    (
        "relayed_without_delivery",
        "relayed events whose subscribed endpoint has no delivery",
        f"""SELECT count(*) FROM outbox_event v JOIN webhook_endpoint e ON e.workspace_id = v.workspace_id
              AND e.enabled AND v.kind = ANY(e.events) AND v.test_endpoint_id IS NULL
            WHERE v.id >= $1 AND v.relayed_at > e.updated_at AND v.relayed_at < now() - interval '{_SETTLING} seconds'
              AND v.body <> ''
              AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = v.id AND d.endpoint_id = e.id)""",
    ),
    (
        "overdue_with_room",
        "deliveries waiting past their time although nothing of their endpoint holds them",
        f"""SELECT count(*) FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id AND e.enabled
            WHERE d.event_id >= $1 AND d.state = 'waiting' AND d.due_at < now() - interval '{_SETTLING} seconds'
              AND NOT e.ordered AND e.rate_limit IS NULL AND e.admission_window >
              (SELECT count(*) FROM delivery q WHERE q.endpoint_id = e.id AND q.state = 'queued')""",
    ),
    (
        "delivered_without_2xx",
        "deliveries marked delivered without a 2xx attempt",
        """SELECT count(*) FROM delivery d WHERE d.event_id >= $1 AND d.state = 'delivered' AND NOT EXISTS (
            SELECT 1 FROM attempt a WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
              AND a.drive = d.drive AND a.counted AND a.outcome = 'delivered')""",
    ),
    (
        "dead_too_early",
        "dead letters with fewer attempts than the schedule gives, and no 410",
        """SELECT count(*) FROM delivery d WHERE d.event_id >= $1 AND d.state = 'dead' AND NOT d.test
            AND d.last_outcome <> 'gone'
            AND (SELECT count(*) FROM attempt a WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
              AND a.drive = d.drive AND a.counted) < {attempts}""",
    ),
    (
        "too_many_attempts",
        "deliveries with more counted attempts in a drive than they know of",
        """SELECT count(*) FROM delivery d WHERE d.event_id >= $1 AND
            (SELECT count(*) FROM attempt a WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
              AND a.drive = d.drive AND a.counted) > d.attempts""",
    ),
)


async def check(loads: Sequence[Load] | None, attempts: int, slack: float, *, since: str = "") -> list[Check]:
    """Every invariant, of the events with ids from `since` on.

    `loads` are the streams' (None when Redis is away leaves that one out), `attempts` how many the retry schedule
    gives, `slack` the seconds after which reconcile takes a delivery for lost.
    """
    found = [
        Check(name, meaning, await db.value(sql.replace("{attempts}", str(int(attempts))), since))
        for name, meaning, sql in _CHECKS
    ]
    if loads is not None:
        broken = await lost(loads, slack + _SETTLING)
        found.append(Check("queued_but_lost", "deliveries queued although no stream holds them any more", broken))
    return found
