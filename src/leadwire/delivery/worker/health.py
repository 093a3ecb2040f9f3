"""What outcomes say of their endpoint: how far its window opens, since when it fails, whether it is to be disabled."""

import functools
import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from leadwire.delivery import metrics
from leadwire.delivery.states import Outcome
from leadwire.delivery.worker import window
from leadwire.delivery.worker.jobs import Attempt
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.db.statements import sql

FAILING_DAYS: Final = 5
"""An endpoint is disabled when everything has failed for at least so many days"""
FAILING_ATTEMPTS: Final = 20
"""and at least so many attempts."""

# Open or halve windows, count failures, disable what is gone or has failed for too long.
_UPDATE: Final = sql("""
WITH signal AS (
    SELECT * FROM unnest(:ids::text[], :successes::int[], :failures::int[], :halvings::int[], :gone::bool[])
    AS signal(id, successes, failures, halvings, gone)
), health AS (
    SELECT e.id, e.enabled AS was_enabled, e.admission_window, signal.successes, signal.halvings,
        CASE WHEN successes > 0 THEN NULL ELSE coalesce(e.failing_since, now()) END AS failing_since,
        CASE WHEN successes > 0 THEN 0 ELSE e.failures + signal.failures END AS failures, gone
    FROM webhook_endpoint e JOIN signal ON signal.id = e.id ORDER BY e.id FOR NO KEY UPDATE OF e
), verdict AS (
    SELECT *, CASE WHEN NOT was_enabled THEN NULL WHEN gone THEN 'gone'
        WHEN failures >= :attempts AND failing_since <= now() - make_interval(days => :days) THEN 'failing'
        END AS reason
    FROM health
)
UPDATE webhook_endpoint e SET
    admission_window = greatest(1, least(:largest, (v.admission_window >> v.halvings) + v.successes)),
    failing_since = v.failing_since, failures = v.failures,
    enabled = e.enabled AND v.reason IS NULL,
    disabled_reason = coalesce(v.reason, e.disabled_reason)
FROM verdict v WHERE e.id = v.id
RETURNING e.id, v.reason""")


def informative(settled: Sequence[Attempt]) -> list[Attempt]:
    """Return those that say something new of their endpoint: a healthy one with an open window costs nothing."""
    return [one for one in settled if one.outcome != "delivered" or one.job.failing or one.job.window < window.LARGEST]


async def record(settled: Sequence[Attempt]) -> None:
    """Write what `settled` says of each endpoint into its row."""
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for one in informative(settled):
        outcomes[one.job.entry.key.endpoint_id].append(one.outcome)
    if not outcomes:
        return
    signals = [window.signals(made) for made in outcomes.values()]
    updated = await _UPDATE.rows(
        ids=list(outcomes),
        successes=[successes for successes, _ in signals],
        failures=[len(made) - successes for made, (successes, _) in zip(outcomes.values(), signals, strict=True)],
        halvings=[halvings for _, halvings in signals],
        gone=["gone" in made for made in outcomes.values()],
        largest=window.LARGEST,
        attempts=FAILING_ATTEMPTS,
        days=FAILING_DAYS,
    )
    for endpoint_id, reason in updated:
        if reason:
            db.after_commit(functools.partial(_disabled, endpoint_id, reason))


def _disabled(endpoint_id: str, reason: str) -> None:
    metrics.DISABLED.cell(reason).add()
    telemetry.log("endpoint.disabled", level=logging.WARNING, endpoint_id=endpoint_id, reason=reason)
