"""Deliveries that a receiver fetches by itself: an endpoint whose URL is `pull:NAME`. They wait as others do.

Handed out, a delivery is queued, and its owner is a lease instead of a worker: acknowledged within it, it is delivered;
not, it is a failed attempt. So everything else is as with a POST, because it is the same rows and the same statement
that records.
"""

import functools
import math
import re
import secrets
import time
from collections.abc import Sequence
from typing import Any, Final

from msgspec import Struct

from leadwire.delivery import retry
from leadwire.delivery.endpoints.table import LARGEST_WINDOW, SEALED, opened
from leadwire.delivery.states import Outcome
from leadwire.delivery.streams import Entry, Key
from leadwire.delivery.worker.attempt import Attempt, ClaimedDelivery, headers_of
from leadwire.delivery.worker.claim import pairs
from leadwire.delivery.worker.number import number
from leadwire.delivery.worker.observe import log_attempts
from leadwire.delivery.worker.record import record
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.batches import apart
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import Unavailable
from leadwire.infrastructure.loop import Failing
from leadwire.infrastructure.settings import Settings

SCHEME: Final = "pull:"
"""How such URLs begin, and the leases of what is handed out."""
URL: Final = re.compile("pull:[a-z0-9][a-z0-9._-]{0,99}")
NAME_RULE: Final = "at most 100 lower-case letters, digits, dots, hyphens and underscores"
BATCH: Final = 500  # expired deliveries
_failing: Final = Failing("expire")

_UNTIL_DUE, _TAKE, _HELD, _DELIVERED, _EXPIRED = named(__file__, "until_due take held delivered expired")


class Handed(Struct, frozen=True):
    """A delivery as it was handed out: the request that would have been sent."""

    headers: dict[str, str]
    body: str


async def until_due(endpoint_id: str, workspace: str) -> float:
    """Return the seconds until there is something to take, 0 or less when there is; infinity when nothing waits, or as
    many are handed out as may be.
    """
    seconds = await _UNTIL_DUE.value(endpoint_id=endpoint_id, workspace=workspace, largest=LARGEST_WINDOW)
    return math.inf if seconds is None else float(seconds)


async def take(endpoint_id: str, workspace: str, most: int, settings: Settings) -> tuple[str, list[Handed]]:
    """Hand out up to `most` deliveries, in the order of their events. Return their lease, too.

    Hand out nothing, and raise OperatorError, when the endpoint's secret cannot be read; Unavailable when somebody is
    removing it, and it has numbers.
    """
    lease = SCHEME + secrets.token_hex(16)
    values = {"endpoint_id": endpoint_id, "workspace": workspace, "most": most, "largest": LARGEST_WINDOW}
    async with db.transaction():
        jobs = [_to_send(row) for row in await _TAKE.rows(**values, lease=lease, seconds=settings.delivery_timeout)]
        fresh = [job.entry.key for job in jobs if job.numbered and job.sequence is None]
        numbers = await number(fresh, lease) if fresh else {}
        if len(numbers) < len(fresh):
            raise Unavailable("The endpoint is being removed.", headers={"Retry-After": "1"})
    jobs = [job._replace(sequence=numbers.get(job.entry.key[:2], job.sequence)) for job in jobs]
    prefix = settings.header_prefix
    return lease, [
        Handed(dict(headers_of(job, prefix, clock.from_unix(job.claimed_at), job.traceparent)), job.body.decode())
        for job in jobs
    ]


async def acknowledge(
    endpoint_id: str, workspace: str, lease: str, events: Sequence[str], settings: Settings
) -> set[str]:
    """Record that these events have arrived. Return those that are delivered, now or before.

    Raise db.Locked when somebody is changing the endpoint.
    """
    values = {"endpoint_id": endpoint_id, "workspace": workspace, "events": list(events)}
    held = await _HELD.rows(**values, lease=lease)
    await _record([_attempt(row, "delivered", settings) for row in held], lease)
    rows = await _DELIVERED.rows(**values, first=min(events, default=""), last=max(events, default=""))
    return {row["event_id"] for row in rows}


async def expire(settings: Settings) -> int:
    """Record a failed attempt for what was not acknowledged in time. Return how many.

    An endpoint that somebody is changing, or whose attempts cannot be recorded, rests. Raise db.TRANSIENT.
    """
    by_lease: dict[tuple[str, str], list[Attempt]] = {}
    for row in await _EXPIRED.rows(most=BATCH, resting=_failing.resting()):
        by_lease.setdefault((row["endpoint_id"], row["owner"]), []).append(_attempt(row, "timeout", settings))
    expired = 0
    for (endpoint_id, lease), attempts in by_lease.items():

        async def some(part: Sequence[Attempt], lease: str = lease) -> None:
            await _record(part, lease)

        failed = await apart(attempts, some)
        _failing.all_failed((endpoint_id, error) for _, error in failed[:1])
        expired += len(attempts) - len(failed)
    return expired


async def _record(done: Sequence[Attempt], lease: str) -> None:
    if done:
        await record(done, lease)
        log_attempts(done)


def _to_send(row: db.Row) -> ClaimedDelivery:
    """What `take` has taken, with what it needs to be signed."""
    sealed = row["secret"], row["staged_secret"], row["signing_key"], row["headers"]
    secret, staged, signer, headers = map(functools.partial(opened, row["endpoint_id"]), SEALED, sealed)
    return _delivery(
        row, body=row["body"], numbered=row["numbered"], sequence=row["sequence"], ordering_key=row["ordering_key"],
        secret=secret, staged_secret=staged, signing_key=signer, headers=pairs(headers), claimed_at=row["taken_at"],
    )  # fmt: skip


def _attempt(row: db.Row, outcome: Outcome, settings: Settings) -> Attempt:
    """What came of what was handed out: it began then, and ends now."""
    end = time.perf_counter()
    start = end - row["took"]
    job = _delivery(row, claimed=start, relaying=row["relaying"], age=row["age"])
    following = retry.after(outcome, job.number, settings.retry_schedule, test=job.test)
    error = None if outcome == "delivered" else f"not acknowledged within {settings.delivery_timeout:g} s"
    return Attempt(job, row["started_at"], start, end, outcome, following, error=error)


def _delivery(row: db.Row, **more: Any) -> ClaimedDelivery:
    """A delivery that no stream has an entry of."""
    entry = Entry(b"", b"", Key(row["event_id"], row["endpoint_id"], row["attempts"]))
    columns = {name: row[name] for name in ("generation", "test", "subject", "traceparent")}
    return ClaimedDelivery(entry, workspace=row["workspace_id"], **columns, **more)
