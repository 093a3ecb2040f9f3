"""Outcomes become attempt rows and next states, in one statement: the second fence.

A delivery is only moved when no other worker has claimed it since and it is still at the attempt that was made (a crash
of PostgreSQL may have forgotten our claim, which is not waited for on disk). So a worker that slept past its lease
changes nothing if another one has claimed the delivery meanwhile; its POST is kept as an attempt that did not count.
"""

from collections.abc import Sequence
from typing import Any, Final

from leadwire.delivery import metrics
from leadwire.delivery.endpoints import discard, schedule
from leadwire.delivery.worker import health, hourly_stats, observe
from leadwire.delivery.worker.attempt import Attempt
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import lists, sql

_MADE: Final = "events endpoints generations numbers starts durations outcomes statuses errors answers nexts delays"
# Move the deliveries that this worker has claimed and that are still at these attempts: on to their next attempt, or to
# what has ended. Insert the attempts. Due times are the database's: a worker with a wrong clock cannot make a retry
# early; and in an order a retry waits for what was redriven before it meanwhile.
_RECORD: Final = sql("""
WITH made AS (
    SELECT * FROM unnest(:events::text[], :endpoints::text[], :generations::smallint[], :numbers::smallint[],
        :starts::timestamptz[], :durations::int[], :outcomes::text[], :statuses::smallint[], :errors::text[],
        :answers::text[], :nexts::text[], :delays::float8[])
    AS made(event_id, endpoint_id, generation, number, started_at, duration_ms, outcome, http_status, error,
        response_body, next, delay)
), again AS (
    UPDATE delivery d SET state = 'waiting', attempts = made.number, last_outcome = made.outcome, queued_at = NULL,
        owner = NULL, lease_until = NULL, due_at = CASE WHEN EXISTS (
            SELECT 1 FROM delivery f WHERE f.endpoint_id = d.endpoint_id AND f.subject = d.subject
              AND f.position < d.position) THEN 'infinity' ELSE now() + made.delay * interval '1 second' END
    FROM made
    WHERE made.next = 'waiting' AND d.event_id = made.event_id AND d.endpoint_id = made.endpoint_id
      AND coalesce(d.owner, :owner) = :owner AND d.attempts = made.number - 1 AND d.generation = made.generation
    RETURNING d.event_id, d.endpoint_id
), ended AS (
    DELETE FROM delivery d USING made
    WHERE made.next <> 'waiting' AND d.event_id = made.event_id AND d.endpoint_id = made.endpoint_id
      AND coalesce(d.owner, :owner) = :owner AND d.attempts = made.number - 1 AND d.generation = made.generation
    RETURNING d.event_id, d.endpoint_id, d.workspace_id, made.next, made.number, d.generation, d.test, d.created_at,
        made.outcome, d.sequence
), kept AS (
    INSERT INTO delivery_result (event_id, endpoint_id, workspace_id, state, attempts, generation, test, created_at,
        finished_at, last_outcome, sequence)
    SELECT event_id, endpoint_id, workspace_id, next, number, generation, test, created_at, now(), outcome, sequence
    FROM ended
), settled AS (
    SELECT event_id, endpoint_id FROM again UNION ALL SELECT event_id, endpoint_id FROM ended
), noted AS (
    INSERT INTO attempt (event_id, endpoint_id, generation, number, started_at, duration_ms, outcome, http_status,
        error, response_body, counted)
    SELECT event_id, endpoint_id, generation, number, started_at, duration_ms, outcome, http_status,
        error, CASE WHEN counted THEN response_body END, counted
    FROM made, LATERAL (SELECT (event_id, endpoint_id) IN (SELECT event_id, endpoint_id FROM settled)) AS fence(counted)
    ON CONFLICT DO NOTHING
)
SELECT event_id, endpoint_id FROM settled""")


async def record(done: Sequence[Attempt], owner: str) -> list[Attempt]:
    """Write down what came of `done`, claimed by `owner`. Return those that counted and ended in a dead letter."""
    done = sorted(done, key=lambda one: one.job.entry.key)  # whoever locks several deliveries takes them in this order
    settled = await _record_with_health(done, owner)
    observe.count_attempts(done)
    hourly_stats.add(settled)
    metrics.FENCED.inc(len(done) - len(settled))
    metrics.RETRIED.inc(sum(one.next.state == "waiting" for one in settled))
    dead = [one for one in settled if one.next.state == "dead" and not one.job.test]
    for one in dead:
        metrics.DEAD_LETTERED.labels(one.outcome).inc()
    return dead


async def _record_with_health(done: Sequence[Attempt], owner: str) -> list[Attempt]:
    """One statement where the outcomes say nothing new of their endpoints; else one transaction.

    A failure between the two would leave an endpoint that is gone enabled: a second try finds the attempts recorded.
    """
    informative = [one for one in done if health.is_informative(one)]
    if not informative:
        return await _record(done, owner)
    async with db.transaction():
        await schedule.PATIENCE.rows()
        await discard.wake({one.job.entry.key.endpoint_id for one in informative})
        settled = await _record(done, owner)
        in_order = {(one.job.entry.key.endpoint_id, one.job.subject) for one in settled if one.job.subject}
        await schedule.release_first(in_order)
        await health.record([one for one in settled if not one.job.test])
    return settled


async def _record(done: Sequence[Attempt], owner: str) -> list[Attempt]:
    """Return those that counted."""
    found = await _RECORD.rows(**lists(_MADE, map(_made, done)), owner=owner)
    counted = {(event_id, endpoint_id) for event_id, endpoint_id in found}
    return [one for one in done if one.job.entry.key[:2] in counted]


def _made(one: Attempt) -> tuple[Any, ...]:
    """The values of `_MADE`."""
    job, key = one.job, one.job.entry.key
    about = (key.event_id, key.endpoint_id, job.generation, job.number, one.started_at, one.duration_ms, one.outcome)
    return (*about, one.http_status, one.error, one.response_body, *one.next)
