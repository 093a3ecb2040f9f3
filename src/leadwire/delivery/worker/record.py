"""Outcomes become attempt rows and next states, in one statement: the second fence. Some change their endpoint's row.

A delivery is only moved when no other worker has claimed it since and it is still at the attempt that was made (a crash
of PostgreSQL may have forgotten our claim, which is not waited for on disk). So a worker that slept past its lease
changes nothing if another one has claimed the delivery meanwhile; its POST is kept as an attempt that did not count.
"""

import functools
from collections import defaultdict
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final

from leadwire.delivery import metrics
from leadwire.delivery.endpoints import discard, due
from leadwire.delivery.endpoints.table import FAILING_ATTEMPTS, FAILING_DAYS, LARGEST_WINDOW
from leadwire.delivery.worker import hourly_stats, observe
from leadwire.delivery.worker.attempt import Attempt
from leadwire.infrastructure import db, jobs, settings, telemetry
from leadwire.infrastructure.db.statements import lists, named

_MADE: Final = (
    "events endpoints generations numbers starts durations outcomes statuses errors answers headers nexts delays"
)
_RECORD, _HEALTH = named(__file__, "record health")

_LONGEST_PAUSE: Final = 3600.0  # seconds


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
    if not by_endpoint:
        return
    said = [(endpoint_id, *_said(attempts)) for endpoint_id, attempts in by_endpoint.items()]
    limits = {"largest": LARGEST_WINDOW, "attempts": FAILING_ATTEMPTS, "days": FAILING_DAYS}
    updated = await _HEALTH.rows(**lists("ids successes failures gone pauses answered", said), **limits)
    await jobs.add_all("auto_redrive", [jobs.Offer(*row[:2]) for row in updated if row["recovered"]])
    for endpoint_id, workspace, reason, _ in updated:
        if reason:
            db.after_commit(functools.partial(_disabled, endpoint_id, workspace, reason))


def _said(attempts: Sequence[Attempt]) -> tuple[int, int, bool, float, bool]:
    """Successes and failures of an endpoint, whether it is gone, and for how many seconds it is to be paused: without
    tests. And whether it has answered anything, a test too, with a 2xx.
    """
    outcomes = [attempt.outcome for attempt in attempts if not attempt.job.test]
    successes = outcomes.count("delivered")
    pause = min(max((_pause(attempt) for attempt in attempts if not attempt.job.test), default=0.0), _LONGEST_PAUSE)
    answered = any(attempt.outcome == "delivered" for attempt in attempts)
    return successes, len(outcomes) - successes, "gone" in outcomes, pause, answered


def _pause(attempt: Attempt) -> float:
    """The seconds for which a receiver wants nothing at all: it is overloaded (429) or out of service (503)."""
    return attempt.retry_after if attempt.http_status in (429, 503) else 0.0


def _disabled(endpoint_id: str, workspace: str, reason: str) -> None:
    metrics.DISABLED.labels(reason).inc()
    telemetry.warn("endpoint.disabled", endpoint_id=endpoint_id, workspace_id=workspace, reason=reason)
