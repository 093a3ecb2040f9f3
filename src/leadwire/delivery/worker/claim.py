"""Stream entries become jobs: the first fence.

A claim takes a delivery for this worker as long as it lives. What does not match the delivery's row is stale, and never
sent: it was recorded, or another worker has it.
"""

import functools
import logging
import time
from collections.abc import Collection, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, NamedTuple

import msgspec

from leadwire.delivery.endpoints import discard, due
from leadwire.delivery.endpoints.table import SEALED, opened
from leadwire.delivery.streams import Entry, Key
from leadwire.delivery.table import END_CANCELED
from leadwire.delivery.transport.identity import Identity
from leadwire.delivery.worker.attempt import ClaimedDelivery
from leadwire.infrastructure import db, ids, telemetry
from leadwire.infrastructure.db.statements import Statement, lists, sql
from leadwire.infrastructure.errors import OperatorError

ASKED: Final = """unnest(:events::text[], :endpoints::text[], :attempts::smallint[])
    AS asked(event_id, endpoint_id, attempts)"""
"""SQL of the deliveries that `asked` gives the values of."""

# Nobody has it, or this worker, or one that is gone. The lease holds for one that wakes up and claims at that moment.
_FREE: Final = """(d.owner IS NULL OR d.owner = :owner OR d.owner = ANY(:gone::text[]) AND d.lease_until < now())"""

# Claim what the entries name, and return all that is needed to send it. The body is read from the one day that its id
# names. A claim that a crash of PostgreSQL forgets is made again, so its commit need not wait for the disk. What
# somebody else has locked is most likely being claimed, recorded or erased: nobody waits for it here.
_CLAIM: Final = f"""
WITH asked AS (SELECT * FROM {ASKED}), claimed AS (
    UPDATE delivery SET owner = :owner, lease_until = now() + :lease * interval '1 second'
    WHERE ctid = ANY(ARRAY(SELECT d.ctid FROM asked CROSS JOIN LATERAL (
        SELECT d.ctid FROM delivery d
        WHERE d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id AND d.attempts = asked.attempts
          AND d.state = 'queued' AND {_FREE}
        FOR UPDATE SKIP LOCKED) d))
    RETURNING *
)
SELECT d.event_id, d.endpoint_id, d.attempts, e.url IS NULL OR coalesce(v.body, '') = '',
    (d.test OR e.enabled AND coalesce(e.paused_until, now()) <= now()) AND e.url NOT LIKE 'pull:%',
    e.secret, e.staged_secret, e.signing_key, e.headers, e.certificate,
    d.generation, d.test, d.subject, e.url, NOT e.open OR e.failing_since IS NOT NULL OR e.admission_window < 256,
    convert_to(v.body, 'UTF8'), v.traceparent, d.workspace_id, e.numbered AND NOT d.test, d.sequence,
    extract(epoch FROM d.created_at - v.recorded_at)::float8, extract(epoch FROM now() - d.queued_at)::float8,
    extract(epoch FROM now() - v.recorded_at)::float8, v.subject, extract(epoch FROM now())::float8
FROM claimed d CROSS JOIN (SELECT set_config('synchronous_commit', 'off', true)) AS fast
LEFT JOIN webhook_endpoint e ON e.id = d.endpoint_id
LEFT JOIN {{events}} v ON v.id = d.event_id"""

# What could be claimed, as far as is committed: where the claim passed it over, somebody has locked its row.
_LOCKED: Final = sql(f"""
SELECT d.event_id, d.endpoint_id, d.attempts FROM {ASKED} JOIN delivery d
    ON d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id AND d.attempts = asked.attempts
WHERE d.event_id = ANY(:events::text[]) AND d.state = 'queued' AND {_FREE}""")

# What cannot be sent any more: its endpoint was removed, or its event erased.
_CANCEL: Final = sql(f"""
WITH canceled AS (
    DELETE FROM delivery d USING {ASKED}
    WHERE d.event_id = ANY(:events::text[]) AND d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id
      AND d.owner = :owner AND d.attempts = asked.attempts RETURNING d.*
)
{END_CANCELED}""")

# What is not to be sent now waits.
_PUT_BACK: Final = sql(f"""
UPDATE delivery d SET state = 'waiting', queued_at = NULL, owner = NULL, lease_until = NULL FROM {ASKED}
WHERE d.event_id = ANY(:events::text[]) AND d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id
  AND d.attempts = asked.attempts AND d.state = 'queued' AND coalesce(d.owner, :owner) = :owner""")
# What this worker has claimed and is not at work on any more.
_RELEASE: Final = sql("""
UPDATE delivery SET owner = NULL, lease_until = NULL
WHERE state = 'queued' AND owner = :owner AND lease_until < now()
  AND (event_id, endpoint_id, attempts) NOT IN (
      SELECT * FROM unnest(:events::text[], :endpoints::text[], :attempts::smallint[]))""")
# No more deliveries of an endpoint are queued at a time than it may have POSTs, and those not at once.
_NARROW: Final = sql("""
UPDATE webhook_endpoint e SET admission_window = greatest(1, least(256, asked.posts)),
    due_at = now() + asked.pause * interval '1 second'
FROM unnest(:endpoints::text[], :posts::int[], :pauses::float8[]) AS asked(endpoint_id, posts, pause)
WHERE e.id = asked.endpoint_id""")


class Claim(NamedTuple):
    """What is to be sent, and what is to be put back: its endpoint takes nothing now, or has an unreadable secret."""

    jobs: list[ClaimedDelivery]
    held: list[Entry]
    unreadable: set[str]


async def claim(entries: Sequence[Entry], owner: str, lease: float, gone: Collection[str] = ()) -> Claim:
    """Claim for `owner`, for `lease` seconds, what is to be sent of `entries`. The rest is done with, or `locked` by
    somebody else.

    `gone` are workers from which it may be taken. What cannot be sent any more is canceled.
    """
    asked_at = time.perf_counter()
    by_key = {entry.key: entry for entry in entries}
    found: list[db.Row] = []
    for day, keys in groupby(sorted(by_key), key=lambda key: ids.day(key.event_id)):
        values = asked(list(keys)) | {"owner": owner, "lease": lease, "gone": list(gone)}
        try:
            found += await _claim_of(f"event_{day}").rows(**values)
        except db.NoTable:  # of a day that is dropped, or that the relay has not made: the default partition has it
            found += await _claim_of("event").rows(**values)
    now = time.perf_counter()
    claimed, refused = Claim([], [], set()), list[Key]()
    for event_id, endpoint_id, attempts, ended, takes, *sealed_and_job in found:
        key = Key(event_id, endpoint_id, attempts)
        sealed, job = sealed_and_job[:5], sealed_and_job[5:]
        if ended:
            refused.append(key)
        elif not takes:
            claimed.held.append(by_key[key])
        else:
            times = (now, asked_at)
            try:
                secret, staged, signer, headers, pem = map(functools.partial(opened, endpoint_id), SEALED, sealed)
            except OperatorError as error:  # it waits until our key is set right
                names = ClaimedDelivery(by_key[key], "", "", "", (), None, *times, *job).names
                telemetry.log("secret.unreadable", level=logging.ERROR, error=error, **names)
                claimed.held.append(by_key[key])
                claimed.unreadable.add(endpoint_id)
                continue
            identity = Identity(endpoint_id, pem) if pem else None
            made = ClaimedDelivery(by_key[key], secret, staged, signer, pairs(headers), identity, *times, *job)
            claimed.jobs.append(made)
    if refused:
        await _CANCEL.rows(**asked(refused), owner=owner)
    return claimed


async def locked(entries: Sequence[Entry], owner: str, gone: Collection[str] = ()) -> set[Key]:
    """Return which of the entries that a claim did not return are not stale: somebody has locked their rows."""
    keys = [entry.key for entry in entries]
    return {Key(*row) for row in await _LOCKED.rows(**asked(keys), owner=owner, gone=list(gone))}


async def release(held: Sequence[Key], owner: str) -> None:
    """Give up what `owner` has claimed a lease ago or earlier, but for what it holds: it has dropped that without an
    outcome, or never heard of its claim. While it lives, nobody else may take these; Redis may have lost their entries.
    """
    await _RELEASE.rows(**asked(held or [Key("", "", 0)]), owner=owner)


async def put_back(keys: Sequence[Key], owner: str, limits: Mapping[str, tuple[int, float]]) -> bool:
    """Let queued deliveries wait. `limits`: how many POSTs these endpoints may have, and not before so many seconds.

    Return True. Raise db.Locked when somebody is changing one of them.
    """
    async with db.transaction():
        await due.PATIENCE.rows()
        await discard.wake({key.endpoint_id for key in keys}, stay_open=False)
        if limits:
            await _NARROW.rows(**lists("endpoints posts pauses", [(name, *limit) for name, limit in limits.items()]))
        await _PUT_BACK.rows(**asked(keys), owner=owner)
    return True


@functools.cache
def _claim_of(events: str) -> Statement:
    """The claim that reads bodies from a table of events: that of a day, or their parent."""
    return sql(_CLAIM.format(events=events))


@functools.lru_cache(maxsize=1024)
def pairs(headers: str) -> tuple[tuple[str, str], ...]:
    """Return an endpoint's custom headers, from the JSON object they are kept as; '' for none."""
    return tuple(msgspec.json.decode(headers or "{}", type=dict[str, str]).items())


def asked(keys: Sequence[Key]) -> dict[str, list[Any]]:
    """Return the values of `ASKED`."""
    return lists("events endpoints attempts", keys)
