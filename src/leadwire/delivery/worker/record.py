"""Outcomes become attempt rows and next states, in one statement: the second half of the fence.

A delivery is only moved when it is still at the attempt that was made, so a worker that slept past its lease changes
nothing; its POST is kept as an attempt that did not count. It may be `waiting` again by then, when Redis forgot it
while the database was away: who knows what came of the attempt saves the receiver another.
"""

import contextlib
from collections.abc import AsyncIterator, Sequence
from typing import Final

from leadwire.delivery import retries
from leadwire.delivery.worker import health, hourly_stats, measure
from leadwire.delivery.worker.attempt import Attempt
from leadwire.infrastructure import db

# Due times are the database's: a worker with a wrong clock cannot make a retry early.
_RECORD: Final = """
WITH made AS (
    SELECT * FROM unnest($1::text[], $2::text[], $3::smallint[], $4::smallint[], $5::timestamptz[], $6::int[],
        $7::text[], $8::smallint[], $9::text[], $10::text[], $11::text[], $12::float8[])
    AS made(event_id, endpoint_id, drive, number, started_at, duration_ms, outcome, http_status, error,
        response_body, next, delay)
), settled AS (
    UPDATE delivery d SET state = made.next, attempts = made.number, last_outcome = made.outcome, queued_at = NULL,
        due_at = CASE made.next WHEN 'waiting' THEN now() + made.delay * interval '1 second' ELSE d.due_at END,
        finished_at = CASE made.next WHEN 'waiting' THEN NULL ELSE now() END
    FROM made
    WHERE d.event_id = made.event_id AND d.endpoint_id = made.endpoint_id AND d.event_id BETWEEN $13 AND $14
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
SELECT event_id, endpoint_id FROM settled"""

# What follows in an order is due when the failed one is, so that nobody looks at it before.
_HOLD: Final = """
UPDATE delivery d SET due_at = failed.due_at FROM delivery failed
WHERE (failed.event_id, failed.endpoint_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
  AND failed.state = 'waiting' AND d.endpoint_id = failed.endpoint_id AND d.subject = failed.subject
  AND d.position > failed.position AND d.state = 'waiting' AND d.due_at < failed.due_at"""

_LOCK: Final = "SELECT 1 FROM webhook_endpoint WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE"


async def record(done: Sequence[Attempt], schedule: Sequence[int]) -> list[Attempt]:
    """Write down what came of `done`. Answers those that counted and ended in a dead letter."""
    nexts = [
        retries.after(one.outcome, one.job.number, schedule, retry_after=one.retry_after, test=one.job.test)
        for one in done
    ]
    async with _with_health(done):
        settled = await _record(done, nexts)
        if late := [one for one in settled if one.job.ordered and one.outcome != "delivered"]:
            await db.rows(_HOLD, *map(list, zip(*(one.job.entry.key[:2] for one in late), strict=True)))
        await health.note([one for one in settled if not one.job.test])
    measure.attempts(done)
    hourly_stats.note(settled)
    counted = {id(one) for one in settled}
    ended = {id(one) for one, following in zip(done, nexts, strict=True) if following.state == "dead"}
    retried = sum(
        following.state == "waiting" and id(one) in counted for one, following in zip(done, nexts, strict=True)
    )
    dead = [one for one in settled if id(one) in ended and not one.job.test]
    measure.ends(len(done) - len(settled), retried, dead)
    return dead


@contextlib.asynccontextmanager
async def _with_health(done: Sequence[Attempt]) -> AsyncIterator[None]:
    """One transaction for what came of the attempts and what it says of their endpoints, where it says something: or a
    failure between them would leave an endpoint that is gone enabled, for a second try finds the attempts recorded.

    The endpoints are locked first, as whoever deletes one does.
    """
    if not (touched := health.concerned(done)):
        yield
        return
    async with db.transaction():
        await db.rows(_LOCK, sorted({one.job.entry.key.endpoint_id for one in touched}))
        yield


async def _record(done: Sequence[Attempt], nexts: Sequence[retries.NextStep]) -> list[Attempt]:
    """Those that counted."""
    events = [one.job.entry.key.event_id for one in done]
    found = await db.rows(
        _RECORD,
        events,
        [one.job.entry.key.endpoint_id for one in done],
        [one.job.drive for one in done],
        [one.job.number for one in done],
        [one.started_at for one in done],
        [one.duration_ms for one in done],
        [one.outcome for one in done],
        [one.http_status for one in done],
        [one.error for one in done],
        [one.response_body for one in done],
        [following.state for following in nexts],
        [following.delay for following in nexts],
        min(events),
        max(events),
    )
    counted = {(event_id, endpoint_id) for event_id, endpoint_id in found}
    return [one for one in done if one.job.entry.key[:2] in counted]
