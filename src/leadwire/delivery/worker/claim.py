"""Stream entries become jobs. What does not match the ledger is stale and never POSTed: the fence's first half."""

import functools
import logging
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

import msgspec

from leadwire.delivery.streams import Entry, Key
from leadwire.infrastructure import db, secret_box, telemetry
from leadwire.infrastructure.errors import OperatorError

# The bounds on the event id let PostgreSQL leave out the days that cannot matter.
_CLAIM: Final = """
SELECT d.event_id, d.endpoint_id, d.attempts, d.drive, d.test, d.subject, e.url, e.secret, e.staged_secret, e.headers,
    e.admission_window, e.failing_since IS NOT NULL, v.body, v.traceparent, v.workspace_id,
    extract(epoch FROM v.relayed_at - v.recorded_at)::float8, extract(epoch FROM now() - d.queued_at)::float8,
    extract(epoch FROM now() - v.recorded_at)::float8
FROM unnest($1::text[], $2::text[], $3::smallint[]) AS asked(event_id, endpoint_id, attempts)
JOIN delivery d ON d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id
    AND d.state = 'queued' AND d.attempts = asked.attempts AND d.event_id BETWEEN $4 AND $5
JOIN outbox_event v ON v.id = d.event_id AND v.id BETWEEN $4 AND $5 AND v.body <> ''
JOIN webhook_endpoint e ON e.id = d.endpoint_id AND (e.enabled OR d.test)"""

_KEEP_FOR_LATER: Final = """
UPDATE delivery d SET state = 'waiting', queued_at = NULL
FROM unnest($1::text[], $2::text[], $3::smallint[]) AS asked(event_id, endpoint_id, attempts), webhook_endpoint e
WHERE d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id AND d.state = 'queued'
  AND d.attempts = asked.attempts AND e.id = d.endpoint_id AND NOT e.enabled AND NOT d.test"""


class ClaimedDelivery(NamedTuple):
    """One POST to make: the entry it came from, and everything as it is in the ledger right now."""

    entry: Entry
    drive: int
    test: bool
    ordered: bool
    url: str
    secret: str
    staged_secret: str | None
    headers: tuple[tuple[str, str], ...]
    window: int
    failing: bool
    body: bytes
    traceparent: str | None
    workspace: str
    relaying: float  # seconds from the event's recording until the relay took it
    queued: float  # seconds in the stream until this claim
    age: float  # of the event, in seconds
    claimed: float  # when, by `time.perf_counter`

    @property
    def number(self) -> int:
        """Which attempt of this drive it is; the first is 1."""
        return self.entry.key.attempts + 1


async def claim(entries: Sequence[Entry]) -> tuple[list[ClaimedDelivery], list[Entry]]:
    """The jobs among `entries`, and the entries that are stale and only want acknowledging.

    A delivery of an endpoint that was disabled meanwhile is put back to wait for it.
    """
    by_key = {entry.key: entry for entry in entries}
    found = await db.rows(_CLAIM, *_columns(list(by_key)))
    ring = secret_box.get()
    now = time.perf_counter()
    jobs: list[ClaimedDelivery] = []
    unreadable: set[bytes] = set()
    for (
        event_id,
        endpoint_id,
        attempts,
        drive,
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
            secret = ring.open(sealed)
            staged, headers = (ring.open(one) if one else None for one in more)
        except OperatorError as error:  # one endpoint's trouble; its entries stay pending until the key is mended
            telemetry.log("secret.unreadable", level=logging.ERROR, error=error, endpoint_id=endpoint_id)
            unreadable.add(entry.id)
            continue
        own = _pairs(headers) if headers else ()
        what = (url, secret, staged, own, window, failing, body.encode(), trace, workspace)
        jobs.append(ClaimedDelivery(entry, drive, test, subject is not None, *what, relaying, queued, age, now))
    if by_key:
        asked = _columns(list(by_key))
        await db.rows(_KEEP_FOR_LATER, *asked[:3])
    kept = {job.entry.id for job in jobs} | unreadable
    return jobs, [entry for entry in entries if entry.id not in kept]


@functools.lru_cache(maxsize=1024)
def _pairs(headers: str) -> tuple[tuple[str, str], ...]:
    """An endpoint's own headers, from the JSON object they are kept as."""
    return tuple(msgspec.json.decode(headers, type=dict[str, str]).items())


def _columns(keys: Sequence[Key]) -> tuple[list[str], list[str], list[int], str, str]:
    events, endpoints, attempts = (list(column) for column in zip(*keys, strict=True))
    return events, endpoints, attempts, min(events), max(events)
