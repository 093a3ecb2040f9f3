"""What must always hold. Each check counts what breaks it; together they prove that nothing is missing."""

from typing import Any, Final, NamedTuple

from redis.asyncio import Redis

from leadwire.delivery import streams
from leadwire.delivery.relay.reconcile import count_lost
from leadwire.infrastructure.db.statements import Statement, sql
from leadwire.infrastructure.redis_pool import AWAY
from leadwire.infrastructure.settings import Settings

_SETTLING: Final = 60  # seconds that something may be under way before it counts as stuck


class Check(NamedTuple):
    """One invariant and how often it is broken just now."""

    name: str
    meaning: str
    broken: int


_CHECKS: Final[tuple[tuple[str, str, Statement], ...]] = (
    (
        "relayed_without_delivery",
        "relayed events whose subscribed endpoint has no delivery",
        sql(f"""SELECT count(*) FROM outbox_event v JOIN webhook_endpoint e ON e.workspace_id = v.workspace_id
              AND e.enabled AND v.kind = ANY(e.events) AND v.test_endpoint_id IS NULL
            WHERE v.id >= :since AND v.relayed_at > e.updated_at
              AND v.relayed_at < now() - interval '{_SETTLING} seconds' AND v.body <> ''
              AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = v.id AND d.endpoint_id = e.id)"""),
    ),
    (
        "overdue_with_room",
        "deliveries waiting past their time although nothing of their endpoint holds them",
        sql(f"""SELECT count(*) FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id AND e.enabled
            WHERE d.event_id >= :since AND d.state = 'waiting' AND d.due_at < now() - interval '{_SETTLING} seconds'
              AND NOT e.ordered AND e.rate_limit IS NULL AND e.admission_window >
              (SELECT count(*) FROM delivery q WHERE q.endpoint_id = e.id AND q.state = 'queued')"""),
    ),
    (
        "delivered_without_2xx",
        "deliveries marked delivered without a 2xx attempt",
        sql("""SELECT count(*) FROM delivery d WHERE d.event_id >= :since AND d.state = 'delivered' AND NOT EXISTS (
            SELECT 1 FROM attempt a WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
              AND a.drive = d.drive AND a.counted AND a.outcome = 'delivered')"""),
    ),
    (
        "dead_too_early",
        "dead letters with fewer attempts than the schedule gives, and no 410",
        sql("""SELECT count(*) FROM delivery d WHERE d.event_id >= :since AND d.state = 'dead' AND NOT d.test
            AND d.last_outcome <> 'gone'
            AND (SELECT count(*) FROM attempt a WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
              AND a.drive = d.drive AND a.counted) < :attempts::int"""),
    ),
    (
        "too_many_attempts",
        "deliveries with more counted attempts in a generation than they know of",
        sql("""SELECT count(*) FROM delivery d WHERE d.event_id >= :since AND
            (SELECT count(*) FROM attempt a WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
              AND a.drive = d.drive AND a.counted) > d.attempts"""),
    ),
)


async def check(redis: Redis | None, settings: Settings, *, since: str = "") -> tuple[list[Check], bool]:
    """Check the deliveries of events with ids from `since` on. Return the checks, and whether Redis could be asked."""
    found = [
        Check(name, meaning, await count.value(**_values(count, settings, since))) for name, meaning, count in _CHECKS
    ]
    try:
        states = await streams.states(redis, settings.stream_shards) if redis is not None else None
    except AWAY:
        states = None
    if states is not None:
        broken = await count_lost(states, settings.reconcile_after + _SETTLING)
        found.append(Check("queued_but_lost", "deliveries queued although no stream holds them any more", broken))
    return found, states is not None


def _values(count: Statement, settings: Settings, since: str) -> dict[str, Any]:
    known = {"since": since, "attempts": len(settings.retry_schedule) + 1}
    return {name: known[name] for name in count.names}
