"""Outcomes become attempt rows and next states, in one statement: the second fence. Some change their endpoint's row.

A delivery is only moved when no other worker has claimed it since and it is still at the attempt that was made (a crash
of PostgreSQL may have forgotten our claim, which is not waited for on disk). So a worker that slept past its lease
changes nothing if another one has claimed the delivery meanwhile; its POST is kept as an attempt that did not count.
"""

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

from leadwire.delivery import metrics
from leadwire.delivery.endpoints import discard, due
from leadwire.delivery.worker import health, hourly_stats, observe
from leadwire.delivery.worker.attempt import Attempt
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.db.statements import lists, named

_MADE: Final = (
    "events endpoints generations numbers starts durations outcomes statuses errors answers headers nexts delays"
)
(_RECORD,) = named(__file__, "record")


async def record(done: Sequence[Attempt], owner: str) -> int:
    """Write down what came of `done`, claimed by `owner`. Return how many dead letters that made."""
    done = sorted(done, key=attrgetter("job.entry.key"))  # whoever locks several deliveries takes them in this order
    settled = await _record_with_health(done, owner)
    observe.count_attempts(done)
    hourly_stats.add(settled)
    metrics.FENCED.inc(len(done) - len(settled))
    metrics.RETRIED.inc(sum(attempt.next.state == "waiting" for attempt in settled))
    most = len(settings.get().retry_schedule) + 1  # whoever has had more was dead before
    ended = [attempt for attempt in settled if attempt.next.state == "dead" and not attempt.job.test]
    dead = [attempt.outcome for attempt in ended if attempt.job.number <= most]
    for outcome in dead:
        metrics.DEAD_LETTERED.labels(outcome).inc()
    return len(dead)


async def _record_with_health(done: Sequence[Attempt], owner: str) -> list[Attempt]:
    """One statement where the outcomes say nothing new of their endpoints; else one transaction.

    Were attempts and endpoints written apart, a failure in between would leave an endpoint that is gone enabled: a
    second try finds the attempts recorded.
    """
    informative = [attempt for attempt in done if health.is_informative(attempt)]
    if not informative:
        return await _record(done, owner)
    async with db.transaction():
        await due.PATIENCE.rows()
        endpoints = {attempt.endpoint_id for attempt in informative}
        roomy = endpoints - {attempt.endpoint_id for attempt in informative if attempt.outcome != "delivered"}
        await discard.wake(endpoints, roomy=roomy)
        settled = await _record(done, owner)
        in_order = {(attempt.endpoint_id, attempt.job.subject) for attempt in settled if attempt.job.subject}
        await due.release_first(in_order)
        await health.note(settled)
    return settled


async def _record(done: Sequence[Attempt], owner: str) -> list[Attempt]:
    rows = await _RECORD.rows(**lists(_MADE, map(_made, done)), owner=owner)
    counted = {(event_id, endpoint_id) for event_id, endpoint_id in rows}
    return [attempt for attempt in done if attempt.job.entry.key[:2] in counted]


def _made(attempt: Attempt) -> tuple[Any, ...]:
    """The values of `_MADE`."""
    job, key = attempt.job, attempt.job.entry.key
    about = key.event_id, key.endpoint_id, job.generation, job.number
    answer = attempt.started_at, attempt.duration_ms, attempt.outcome, attempt.http_status, attempt.error
    return (*about, *answer, attempt.response_body, attempt.response_headers, *attempt.next)
