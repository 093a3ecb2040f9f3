"""Outcomes become attempt rows and next states, in one statement: the second fence. Some change their endpoint's row.

A delivery is only moved when no other worker has claimed it since and it is still at the attempt that was made (a crash
of PostgreSQL may have forgotten our claim, which is not waited for on disk). So a worker that slept past its lease
changes nothing if another one has claimed the delivery meanwhile; its POST is kept as an attempt that did not count.
"""

from collections import defaultdict
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

from leadwire.delivery import metrics
from leadwire.delivery.endpoints import discard, due, health
from leadwire.delivery.worker import hourly_stats, observe
from leadwire.delivery.worker.attempt import Attempt
from leadwire.infrastructure import db, settings
from leadwire.infrastructure.db.statements import lists, named

_MADE: Final = (
    "events endpoints generations numbers starts durations outcomes statuses errors answers headers nexts delays"
)
(_RECORD,) = named(__file__, "record")


async def record(done: Sequence[Attempt], owner: str) -> list[Attempt]:
    """Write down what came of `done`, claimed by `owner`. Return those that counted and made a dead letter."""
    done = sorted(done, key=attrgetter("job.entry.key"))  # whoever locks several deliveries takes them in this order
    settled = await _record_with_health(done, owner)
    observe.count_attempts(done)
    hourly_stats.add(settled)
    metrics.FENCED.inc(len(done) - len(settled))
    metrics.RETRIED.inc(sum(attempt.next.state == "waiting" for attempt in settled))
    most = len(settings.get().retry_schedule) + 1  # whoever has had more was dead before
    dead = [
        attempt
        for attempt in settled
        if attempt.next.state == "dead" and not attempt.job.test and attempt.job.number <= most
    ]
    for attempt in dead:
        metrics.DEAD_LETTERED.labels(attempt.outcome).inc()
    return dead


async def _record_with_health(done: Sequence[Attempt], owner: str) -> list[Attempt]:
    """One statement where the outcomes say nothing new of their endpoints; else one transaction.

    Were attempts and endpoints written apart, a failure in between would leave an endpoint that is gone enabled: a
    second try finds the attempts recorded.
    """
    informative = [attempt for attempt in done if is_informative(attempt)]
    if not informative:
        return await _record(done, owner)
    async with db.transaction():
        await due.PATIENCE.rows()
        endpoints = {attempt.job.entry.key.endpoint_id for attempt in informative}
        roomy = endpoints - {
            attempt.job.entry.key.endpoint_id for attempt in informative if attempt.outcome != "delivered"
        }
        await discard.wake(endpoints, roomy=roomy)
        settled = await _record(done, owner)
        in_order = {
            (attempt.job.entry.key.endpoint_id, attempt.job.subject) for attempt in settled if attempt.job.subject
        }
        await due.release_first(in_order)
        await note_health(settled)
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


def is_informative(attempt: Attempt) -> bool:
    """Whether it says something new of its endpoint: a healthy one without a backlog costs nothing."""
    return attempt.outcome != "delivered" or attempt.job.watched or attempt.job.subject is not None


async def note_health(settled: Sequence[Attempt]) -> None:
    """Write what `settled` says of each endpoint into its row, which is locked."""
    by_endpoint: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in settled:
        if is_informative(attempt):
            by_endpoint[attempt.job.entry.key.endpoint_id].append(attempt)
    await health.note([_said(endpoint_id, attempts) for endpoint_id, attempts in by_endpoint.items()])


def _said(endpoint_id: str, attempts: Sequence[Attempt]) -> health.Said:
    real = [attempt for attempt in attempts if not attempt.job.test]
    outcomes = [attempt.outcome for attempt in real]
    successes = outcomes.count("delivered")
    pause = max(map(_pause, real), default=0.0)
    answered = any(attempt.outcome == "delivered" for attempt in attempts)
    return health.Said(endpoint_id, successes, len(outcomes) - successes, "gone" in outcomes, pause, answered)


def _pause(attempt: Attempt) -> float:
    """The seconds for which a receiver wants nothing at all: it is overloaded (429) or out of service (503)."""
    return attempt.retry_after if attempt.http_status in (429, 503) else 0.0
