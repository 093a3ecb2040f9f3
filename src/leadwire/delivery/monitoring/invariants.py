"""What must always hold. Each check counts what breaks it; together they prove that nothing is missing."""

from typing import Any, Final, NamedTuple

from redis.asyncio import Redis

from leadwire.delivery import streams
from leadwire.delivery.relay.reconcile import count_lost, now
from leadwire.infrastructure.db.statements import Statement, sql
from leadwire.infrastructure.redis_pool import AWAY
from leadwire.infrastructure.settings import Settings

_CHANGING: Final = 5  # seconds that a change of an endpoint may take to commit
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
        sql(f"""SELECT count(*) FROM event v JOIN webhook_endpoint e ON e.workspace_id = v.workspace_id
              AND e.enabled AND v.kind = ANY(e.events) AND v.test_endpoint_id IS NULL
            WHERE v.id >= :since AND v.recorded_at > e.updated_at + interval '{_CHANGING} seconds'
              AND v.recorded_at < now() - interval '{_SETTLING} seconds' AND v.body <> ''
              AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = v.id)
              AND NOT EXISTS (SELECT 1 FROM every_delivery d WHERE d.event_id = v.id AND d.endpoint_id = e.id)"""),
    ),
    (
        "overdue_with_room",
        "deliveries waiting past their time although nothing of their endpoint holds them",
        sql(f"""SELECT count(*) FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id AND e.enabled
            WHERE d.event_id >= :since AND d.state = 'waiting' AND d.due_at < now() - interval '{_SETTLING} seconds'
              AND NOT e.ordered AND e.rate_limit IS NULL AND coalesce(e.paused_until, now()) <= now()
              AND e.admission_window >
              (SELECT count(*) FROM delivery q WHERE q.endpoint_id = e.id AND q.state = 'queued')"""),
    ),
    (
        "due_and_not_looked_at",
        "deliveries waiting past their time although the relay will not look at their endpoint",
        sql(f"""SELECT count(*) FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id AND e.enabled
            WHERE d.event_id >= :since AND d.state = 'waiting' AND d.due_at < now() - interval '{_SETTLING} seconds'
              AND e.due_at = 'infinity'"""),
    ),
    (
        "open_and_ended",
        "deliveries that are still to be sent and have ended at once",
        sql("""SELECT count(*) FROM delivery d JOIN delivery_result r USING (event_id, endpoint_id)
            WHERE d.event_id >= :since"""),
    ),
    (
        "delivered_without_2xx",
        "deliveries marked delivered without a 2xx attempt",
        sql("""SELECT count(*) FROM delivery_result d WHERE d.event_id >= :since AND d.state = 'delivered'
            AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
              AND a.generation = d.generation AND a.counted AND a.outcome = 'delivered')"""),
    ),
    (
        "dead_too_early",
        "dead letters with fewer attempts than the schedule gives, and no 410",
        sql("""SELECT count(*) FROM delivery_result d WHERE d.event_id >= :since AND d.state = 'dead' AND NOT d.test
            AND d.last_outcome <> 'gone'
            AND (SELECT count(*) FROM attempt a WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
              AND a.generation = d.generation AND a.counted) < :attempts::int"""),
    ),
    (
        "too_many_attempts",
        "deliveries with more counted attempts in a generation than they know of",
        sql("""SELECT count(*) FROM every_delivery d WHERE d.event_id >= :since AND
            (SELECT count(*) FROM attempt a WHERE a.event_id = d.event_id AND a.endpoint_id = d.endpoint_id
              AND a.generation = d.generation AND a.counted) > d.attempts"""),
    ),
)


async def check(redis: Redis | None, settings: Settings, *, since: str = "") -> tuple[list[Check], bool]:
    """Check the deliveries of events with ids from `since` on. Return the checks, and whether Redis could be asked."""
    found = [
        Check(name, meaning, await count.value(**_values(count, settings, since))) for name, meaning, count in _CHECKS
    ]
    try:
        read_at = await now()
        states = await streams.states(redis, settings.stream_shards) if redis is not None else None
    except AWAY:
        states = None
    if states is not None:
        broken = await count_lost(states, read_at, settings.reconcile_after + _SETTLING)
        found.append(Check("queued_but_lost", "deliveries queued although no stream holds them any more", broken))
    return found, states is not None


def _values(count: Statement, settings: Settings, since: str) -> dict[str, Any]:
    known = {"since": since, "attempts": len(settings.retry_schedule) + 1}
    return {name: known[name] for name in count.names}
