"""Outcomes become attempt rows and next states, in one statement: the second fence.

A delivery is only moved when it is still at the attempt that was made, so a worker that slept past its lease changes
nothing; its POST is kept as an attempt that did not count. It may be `waiting` again by then, when Redis forgot it
while the database was away: who knows what came of the attempt saves the receiver another.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Final

from leadwire.delivery import retries
from leadwire.delivery.endpoints.table import WebhookEndpoint
from leadwire.delivery.worker import health, hourly_stats, observe
from leadwire.delivery.worker.jobs import Attempt
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import any_of, sql, statement

# Move the deliveries that are still at these attempts, insert the attempts. Due times are the database's: a worker with
# a wrong clock cannot make a retry early.
_RECORD: Final = sql("""
WITH made AS (
    SELECT * FROM unnest(:events::text[], :endpoints::text[], :generations::smallint[], :numbers::smallint[],
        :starts::timestamptz[], :durations::int[], :outcomes::text[], :statuses::smallint[], :errors::text[],
        :response_bodies::text[], :nexts::text[], :delays::float8[])
    AS made(event_id, endpoint_id, drive, number, started_at, duration_ms, outcome, http_status, error,
        response_body, next, delay)
), settled AS (
    UPDATE delivery d SET state = made.next, attempts = made.number, last_outcome = made.outcome, queued_at = NULL,
        due_at = CASE made.next WHEN 'waiting' THEN now() + made.delay * interval '1 second' ELSE d.due_at END,
        finished_at = CASE made.next WHEN 'waiting' THEN NULL ELSE now() END
    FROM made
    WHERE d.event_id = made.event_id AND d.endpoint_id = made.endpoint_id AND d.event_id BETWEEN :first AND :last
      AND d.state IN ('queued', 'waiting') AND d.attempts = made.number - 1 AND d.drive = made.drive
    RETURNING d.event_id, d.endpoint_id
), noted AS (
    INSERT INTO attempt (event_id, endpoint_id, drive, number, started_at, duration_ms, outcome, http_status,
        error, response_body, counted)
    SELECT event_id, endpoint_id, drive, number, started_at, duration_ms, outcome, http_status,
        error, CASE WHEN counted THEN response_body END, counted
    FROM made, LATERAL (SELECT (event_id, endpoint_id) IN (SELECT event_id, endpoint_id FROM settled)) AS fence(counted)
    ON CONFLICT DO NOTHING
)
SELECT event_id, endpoint_id FROM settled""")

# What follows in an order is due when the failed one is, so that nobody looks at it before.
_HOLD: Final = sql("""
UPDATE delivery d SET due_at = failed.due_at FROM delivery failed
WHERE (failed.event_id, failed.endpoint_id) IN (SELECT * FROM unnest(:events::text[], :endpoints::text[]))
  AND failed.state = 'waiting' AND d.endpoint_id = failed.endpoint_id AND d.subject = failed.subject
  AND d.position > failed.position AND d.state = 'waiting' AND d.due_at < failed.due_at""")

_LOCK: Final = statement(
    WebhookEndpoint.select(WebhookEndpoint.id).where(any_of(WebhookEndpoint.id, "ids")).order_by(WebhookEndpoint.id),
    "FOR NO KEY UPDATE",
)


async def record(done: Sequence[Attempt], schedule: Sequence[int]) -> list[Attempt]:
    """Write down what came of `done`. Return those that counted and ended in a dead letter."""
    nexts = [
        retries.after(one.outcome, one.job.number, schedule, retry_after=one.retry_after, test=one.job.test)
        for one in done
    ]
    async with _with_health(done):
        settled = await _record(done, nexts)
        if late := [one for one in settled if one.job.ordered and one.outcome != "delivered"]:
            events, endpoints = map(list, zip(*(one.job.entry.key[:2] for one in late), strict=True))
            await _HOLD.rows(events=events, endpoints=endpoints)
        await health.record([one for one in settled if not one.job.test])
    observe.count_attempts(done)
    hourly_stats.add(settled)
    counted = {id(one) for one in settled}
    ended = {id(one) for one, following in zip(done, nexts, strict=True) if following.state == "dead"}
    retried = sum(
        following.state == "waiting" and id(one) in counted for one, following in zip(done, nexts, strict=True)
    )
    dead = [one for one in settled if id(one) in ended and not one.job.test]
    observe.count_ends(len(done) - len(settled), retried, dead)
    return dead


@contextlib.asynccontextmanager
async def _with_health(done: Sequence[Attempt]) -> AsyncIterator[None]:
    """Open one transaction for attempts and what they say of their endpoints, where they say something.

    A failure between the two would leave an endpoint that is gone enabled: a second try finds the attempts recorded.

    The endpoints are locked first, as whoever deletes one does.
    """
    if not (informative := health.informative(done)):
        yield
        return
    async with db.transaction():
        await _LOCK.rows(ids=sorted({one.job.entry.key.endpoint_id for one in informative}))
        yield


async def _record(done: Sequence[Attempt], nexts: Sequence[retries.NextStep]) -> list[Attempt]:
    """Return those that counted."""
    events = [one.job.entry.key.event_id for one in done]
    found = await _RECORD.rows(
        events=events,
        endpoints=[one.job.entry.key.endpoint_id for one in done],
        generations=[one.job.generation for one in done],
        numbers=[one.job.number for one in done],
        starts=[one.started_at for one in done],
        durations=[one.duration_ms for one in done],
        outcomes=[one.outcome for one in done],
        statuses=[one.http_status for one in done],
        errors=[one.error for one in done],
        response_bodies=[one.response_body for one in done],
        nexts=[following.state for following in nexts],
        delays=[following.delay for following in nexts],
        first=min(events),
        last=max(events),
    )
    counted = {(event_id, endpoint_id) for event_id, endpoint_id in found}
    return [one for one in done if one.job.entry.key[:2] in counted]
