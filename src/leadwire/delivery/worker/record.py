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
from leadwire.infrastructure.db.statements import lists, load

_MADE: Final = "events endpoints generations numbers starts durations outcomes statuses errors answers nexts delays"
_RECORD: Final = load(__file__)["record"]


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
