"""Stream entries become jobs. What does not match the delivery's row is stale and never sent: the first fence."""

import functools
import logging
import time
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from leadwire.delivery.streams import Entry, Key
from leadwire.delivery.worker.jobs import ClaimedDelivery
from leadwire.infrastructure import secret_box, telemetry
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import OperatorError

# All that is needed to send what the entries name, as far as it is still to be sent. The bounds on the event id let
# PostgreSQL leave out the days that cannot matter.
_CLAIM: Final = sql("""
SELECT d.event_id, d.endpoint_id, d.attempts, d.drive, d.test, d.subject, e.url, e.secret, e.staged_secret, e.headers,
    e.admission_window, e.failing_since IS NOT NULL, v.body, v.traceparent, v.workspace_id,
    extract(epoch FROM v.relayed_at - v.recorded_at)::float8, extract(epoch FROM now() - d.queued_at)::float8,
    extract(epoch FROM now() - v.recorded_at)::float8
FROM unnest(:events::text[], :endpoints::text[], :attempts::smallint[]) AS asked(event_id, endpoint_id, attempts)
JOIN delivery d ON d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id
    AND d.state = 'queued' AND d.attempts = asked.attempts AND d.event_id BETWEEN :first AND :last
JOIN outbox_event v ON v.id = d.event_id AND v.id BETWEEN :first AND :last AND v.body <> ''
JOIN webhook_endpoint e ON e.id = d.endpoint_id AND (e.enabled OR d.test)""")

# What is queued for an endpoint that was disabled meanwhile waits for it.
_KEEP_FOR_LATER: Final = sql("""
UPDATE delivery d SET state = 'waiting', queued_at = NULL
FROM unnest(:events::text[], :endpoints::text[], :attempts::smallint[]) AS asked(event_id, endpoint_id, attempts),
    webhook_endpoint e
WHERE d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id AND d.state = 'queued'
  AND d.attempts = asked.attempts AND e.id = d.endpoint_id AND NOT e.enabled AND NOT d.test""")


async def claim(entries: Sequence[Entry]) -> tuple[list[ClaimedDelivery], list[Entry]]:
    """Return what is to be sent of `entries`, and the entries that are stale and are only to be acknowledged.

    A delivery of an endpoint that was disabled meanwhile is put back to wait for it.
    """
    by_key = {entry.key: entry for entry in entries}
    asked = _columns(list(by_key))
    found = await _CLAIM.rows(**asked, first=min(asked["events"]), last=max(asked["events"]))
    box = secret_box.get()
    now = time.perf_counter()
    jobs: list[ClaimedDelivery] = []
    unreadable: set[bytes] = set()
    for (
        event_id,
        endpoint_id,
        attempts,
        generation,
        test,
        subject,
        url,
        sealed,
        *more,
        window,
        failing,
        body,
        trace,
        workspace,
        relaying,
        queued,
        age,
    ) in found:
        entry = by_key.pop(Key(event_id, endpoint_id, attempts))
        try:
            secret = box.open(sealed)
            staged, headers = (box.open(one) if one else None for one in more)
        except OperatorError as error:  # its entries stay pending until the key is set right
            telemetry.log("secret.unreadable", level=logging.ERROR, error=error, endpoint_id=endpoint_id)
            unreadable.add(entry.id)
            continue
        own = _pairs(headers) if headers else ()
        what = (url, secret, staged, own, window, failing, body.encode(), trace, workspace)
        jobs.append(ClaimedDelivery(entry, generation, test, subject is not None, *what, relaying, queued, age, now))
    if by_key:
        await _KEEP_FOR_LATER.rows(**_columns(list(by_key)))
    kept = {job.entry.id for job in jobs} | unreadable
    return jobs, [entry for entry in entries if entry.id not in kept]


@functools.lru_cache(maxsize=1024)
def _pairs(headers: str) -> tuple[tuple[str, str], ...]:
    """Return an endpoint's custom headers, from the JSON object they are kept as."""
    return tuple(msgspec.json.decode(headers, type=dict[str, str]).items())


def _columns(keys: Sequence[Key]) -> dict[str, list[Any]]:
    return dict(zip(("events", "endpoints", "attempts"), map(list, zip(*keys, strict=True)), strict=True))
