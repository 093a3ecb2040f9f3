"""What outcomes say of their endpoint: how far its window opens, since when it fails, whether it is to be disabled."""

import functools
import logging
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from leadwire.delivery import metrics
from leadwire.delivery.relay import window
from leadwire.delivery.states import Outcome
from leadwire.delivery.worker.attempt import Attempt
from leadwire.infrastructure import db, telemetry

WORN_DAYS: Final = 5
"""An endpoint is disabled when everything has failed for so many days"""
WORN_FAILURES: Final = 20
"""and that was so many attempts at least."""

_NOTE: Final = """
WITH signal AS (
    SELECT * FROM unnest($1::text[], $2::int[], $3::int[], $4::int[], $5::bool[])
    AS signal(id, successes, failures, halvings, gone)
), health AS (
    SELECT e.id, e.enabled AS was_enabled, e.admission_window, signal.successes, signal.halvings,
        CASE WHEN successes > 0 THEN NULL ELSE coalesce(e.failing_since, now()) END AS failing_since,
        CASE WHEN successes > 0 THEN 0 ELSE e.failures + signal.failures END AS failures, gone
    FROM webhook_endpoint e JOIN signal ON signal.id = e.id ORDER BY e.id FOR NO KEY UPDATE OF e
), verdict AS (
    SELECT *, CASE WHEN NOT was_enabled THEN NULL WHEN gone THEN 'gone'
        WHEN failures >= $7 AND failing_since <= now() - make_interval(days => $8) THEN 'failing' END AS reason
    FROM health
)
UPDATE webhook_endpoint e SET
    admission_window = greatest(1, least($6, (v.admission_window >> v.halvings) + v.successes)),
    failing_since = v.failing_since, failures = v.failures,
    enabled = e.enabled AND v.reason IS NULL,
    disabled_reason = coalesce(v.reason, e.disabled_reason)
FROM verdict v WHERE e.id = v.id
RETURNING e.id, v.reason"""


def concerned(settled: Sequence[Attempt]) -> list[Attempt]:
    """Those that say something new of their endpoint: a healthy one with an open window costs nothing."""
    return [one for one in settled if one.outcome != "delivered" or one.job.failing or one.job.window < window.LARGEST]


async def note(settled: Sequence[Attempt]) -> None:
    """Write down what `settled` says of each endpoint."""
    outcomes: dict[str, list[Outcome]] = defaultdict(list)
    for one in concerned(settled):
        outcomes[one.job.entry.key.endpoint_id].append(one.outcome)
    if not outcomes:
        return
    signals = [window.signals(of_endpoint) for of_endpoint in outcomes.values()]
    noted = await db.rows(
        _NOTE,
        list(outcomes),
        [successes for successes, _ in signals],
        [len(of_endpoint) - successes for of_endpoint, (successes, _) in zip(outcomes.values(), signals, strict=True)],
        [halvings for _, halvings in signals],
        ["gone" in of_endpoint for of_endpoint in outcomes.values()],
        window.LARGEST,
        WORN_FAILURES,
        WORN_DAYS,
    )
    for endpoint_id, reason in noted:
        if reason:
            db.after_commit(functools.partial(_disabled, endpoint_id, reason))


def _disabled(endpoint_id: str, reason: str) -> None:
    metrics.DISABLED.cell(reason).add()
    telemetry.log("endpoint.disabled", level=logging.WARNING, endpoint_id=endpoint_id, reason=reason)
