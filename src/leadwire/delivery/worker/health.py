"""What the outcomes of deliveries say of an endpoint: it is paused, disabled, or in service again."""

import functools
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from leadwire.delivery import metrics
from leadwire.delivery.endpoints.table import LARGEST_WINDOW
from leadwire.delivery.worker.attempt import Attempt
from leadwire.infrastructure import db, jobs, telemetry
from leadwire.infrastructure.db.statements import lists, named

FAILING_DAYS: Final = 5
"""An endpoint is disabled when everything has failed for at least so many days"""
FAILING_ATTEMPTS: Final = 20
"""and at least so many attempts."""
_LONGEST_PAUSE: Final = 3600.0  # seconds

(_NOTE,) = named(__file__, "note")


def is_informative(attempt: Attempt) -> bool:
    """Whether it says something new of its endpoint: a healthy one without a backlog costs nothing."""
    return attempt.outcome != "delivered" or attempt.job.watched or attempt.job.subject is not None


async def note(settled: Sequence[Attempt]) -> None:
    """Write what attempts say of their endpoints into the rows of these, which are locked. One that is gone, or that
    has failed for `FAILING_DAYS` and `FAILING_ATTEMPTS`, is disabled. What another address said before counts not.
    """
    by_address: dict[tuple[str, str], list[Attempt]] = defaultdict(list)
    for attempt in filter(is_informative, settled):
        by_address[attempt.endpoint_id, attempt.job.url].append(attempt)
    if not by_address:
        return
    rows = [(*address, *_said(attempts)) for address, attempts in by_address.items()]
    limits = {"largest": LARGEST_WINDOW, "attempts": FAILING_ATTEMPTS, "days": FAILING_DAYS}
    updated = await _NOTE.rows(**lists("ids urls successes failures gone pauses answered", rows), **limits)
    await jobs.add_all("auto_redrive", [jobs.Offer(*row[:2]) for row in updated if row["recovered"]])
    for endpoint_id, workspace, reason, _ in updated:
        if reason:
            db.after_commit(functools.partial(_disabled, endpoint_id, workspace, reason))


def _said(attempts: Sequence[Attempt]) -> tuple[int, int, bool, float, bool]:
    """Successes, failures, whether its server has answered 410, for how many seconds it wants nothing at all, as it is
    overloaded (429) or out of service (503), and whether it has answered anything with a 2xx: a test says only that.
    """
    real = [attempt for attempt in attempts if not attempt.job.test]
    outcomes = [attempt.outcome for attempt in real]
    successes = outcomes.count("delivered")
    pause = max((attempt.retry_after for attempt in real if attempt.http_status in (429, 503)), default=0.0)
    answered = any(attempt.outcome == "delivered" for attempt in attempts)
    return successes, len(outcomes) - successes, "gone" in outcomes, min(pause, _LONGEST_PAUSE), answered


def _disabled(endpoint_id: str, workspace: str, reason: str) -> None:
    metrics.DISABLED.labels(reason).inc()
    telemetry.warn("endpoint.disabled", endpoint_id=endpoint_id, workspace_id=workspace, reason=reason)
