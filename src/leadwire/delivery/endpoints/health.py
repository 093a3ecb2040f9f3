"""What the outcomes of deliveries say of an endpoint: it is paused, disabled, or in service again."""

import functools
from collections.abc import Sequence
from typing import Final, NamedTuple

from leadwire.delivery import metrics
from leadwire.delivery.endpoints.table import LARGEST_WINDOW
from leadwire.infrastructure import db, jobs, telemetry
from leadwire.infrastructure.db.statements import lists, named

FAILING_DAYS: Final = 5
"""An endpoint is disabled when everything has failed for at least so many days"""
FAILING_ATTEMPTS: Final = 20
"""and at least so many attempts."""
_LONGEST_PAUSE: Final = 3600.0  # seconds

(_NOTE,) = named(__file__, "note")


class Said(NamedTuple):
    """What some outcomes say of their endpoint, tests apart."""

    endpoint_id: str
    successes: int
    failures: int
    gone: bool
    """Whether its server has answered 410."""
    pause: float
    """The seconds for which it wants nothing."""
    answered: bool
    """Whether it has answered anything, a test too, with a 2xx."""


async def note(said: Sequence[Said]) -> None:
    """Write it into the rows of the endpoints, which are locked. One that is gone, or that has failed for
    `FAILING_DAYS` and `FAILING_ATTEMPTS`, is disabled.
    """
    if not said:
        return
    rows = [outcome._replace(pause=min(outcome.pause, _LONGEST_PAUSE)) for outcome in said]
    limits = {"largest": LARGEST_WINDOW, "attempts": FAILING_ATTEMPTS, "days": FAILING_DAYS}
    updated = await _NOTE.rows(**lists("ids successes failures gone pauses answered", rows), **limits)
    await jobs.add_all("auto_redrive", [jobs.Offer(*row[:2]) for row in updated if row["recovered"]])
    for endpoint_id, workspace, reason, _ in updated:
        if reason:
            db.after_commit(functools.partial(_disabled, endpoint_id, workspace, reason))


def _disabled(endpoint_id: str, workspace: str, reason: str) -> None:
    metrics.DISABLED.labels(reason).inc()
    telemetry.warn("endpoint.disabled", endpoint_id=endpoint_id, workspace_id=workspace, reason=reason)
