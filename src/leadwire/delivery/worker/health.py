"""What outcomes say of their endpoint: whether it fails, is to be paused or disabled, and when to look at it again."""

import functools
import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from leadwire.delivery import metrics
from leadwire.delivery.endpoints.table import LARGEST_WINDOW
from leadwire.delivery.worker.attempt import Attempt
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.db.statements import lists, sql

FAILING_DAYS: Final = 5
"""An endpoint is disabled when everything has failed for at least so many days"""
FAILING_ATTEMPTS: Final = 20
"""and at least so many attempts."""

_LONGEST_PAUSE: Final = 3600.0  # seconds

# Open windows, pause what asks for it, count failures, disable what is gone or has failed for too long.
_UPDATE: Final = sql("""
WITH verdict AS (
    SELECT e.id, e.admission_window, asked.successes, asked.pause,
        CASE WHEN successes > 0 THEN NULL ELSE coalesce(e.failing_since, now()) END AS failing_since,
        CASE WHEN successes > 0 THEN 0 ELSE e.failures + asked.failures END AS failures,
        CASE WHEN NOT e.enabled THEN NULL WHEN asked.gone THEN 'gone'
            WHEN successes = 0 AND e.failures + asked.failures >= :attempts
                AND e.failing_since <= now() - make_interval(days => :days) THEN 'failing'
            END AS reason
    FROM unnest(:ids::text[], :successes::int[], :failures::int[], :gone::bool[], :pauses::float8[])
        AS asked(id, successes, failures, gone, pause) JOIN webhook_endpoint e ON e.id = asked.id
)
UPDATE webhook_endpoint e SET
    admission_window = least(:largest, v.admission_window + v.successes),
    paused_until = CASE WHEN pause > 0 THEN now() + pause * interval '1 second' ELSE e.paused_until END,
    failing_since = v.failing_since, failures = v.failures,
    open = e.open AND pause = 0 AND v.reason IS NULL,
    enabled = e.enabled AND v.reason IS NULL,
    disabled_reason = coalesce(v.reason, e.disabled_reason)
FROM verdict v WHERE e.id = v.id
RETURNING e.id, v.reason""")


def is_informative(one: Attempt) -> bool:
    """Whether it says something new of its endpoint: a healthy one without a backlog costs nothing."""
    return one.outcome != "delivered" or one.job.watched or one.job.subject is not None


async def record(settled: Sequence[Attempt]) -> None:
    """Write what `settled` says of each endpoint into its row, which is locked."""
    by_endpoint: dict[str, list[Attempt]] = defaultdict(list)
    for one in settled:
        if is_informative(one):
            by_endpoint[one.job.entry.key.endpoint_id].append(one)
    if not by_endpoint:
        return
    said = [(endpoint_id, *_said(made)) for endpoint_id, made in by_endpoint.items()]
    limits = {"largest": LARGEST_WINDOW, "attempts": FAILING_ATTEMPTS, "days": FAILING_DAYS}
    updated = await _UPDATE.rows(**lists("ids successes failures gone pauses", said), **limits)
    for endpoint_id, reason in updated:
        if reason:
            db.after_commit(functools.partial(_disabled, endpoint_id, reason))


def _said(made: Sequence[Attempt]) -> tuple[int, int, bool, float]:
    """Successes and failures of an endpoint, whether it is gone, and for how many seconds it is to be paused."""
    successes = sum(one.outcome == "delivered" for one in made)
    gone = any(one.outcome == "gone" for one in made)
    return successes, len(made) - successes, gone, min(max(map(_pause, made)), _LONGEST_PAUSE)


def _pause(one: Attempt) -> float:
    """The seconds for which a receiver wants nothing at all: it is overloaded (429) or out of service (503)."""
    return one.retry_after if one.http_status in (429, 503) else 0.0


def _disabled(endpoint_id: str, reason: str) -> None:
    metrics.DISABLED.labels(reason).inc()
    telemetry.log("endpoint.disabled", level=logging.WARNING, endpoint_id=endpoint_id, reason=reason)
