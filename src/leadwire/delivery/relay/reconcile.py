"""What Redis lost is added to the streams again: this is what makes Redis disposable.

Finished entries are deleted, so the oldest entry of a stream is a watermark: a delivery queued well before it has no
entry any more. That is O(1) to see, raises no false alarm under a backlog (the watermark is old then too), and heals a
flush, a failover that lost its last second, an eviction, a process that died between commit and XADD. An entry too many
does no harm: one worker at a time can claim a delivery.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from leadwire.delivery.streams import Key, StreamState
from leadwire.infrastructure.db.statements import sql

BATCH: Final = 2000  # deliveries

# The database's time, to be taken before the streams are read: then a pause between the two makes nothing look lost.
_NOW: Final = sql("SELECT now()")
# Queued deliveries that neither a worker nor a receiver (`pull`) holds and that are older than the oldest entries of
# both streams in which they may be, by more than the slack.
_LOST: Final = """FROM delivery d JOIN unnest(:shards::int[], :ages::float8[]) AS stream(shard, age)
    ON ('x' || substr(md5(d.endpoint_id), 1, 4))::bit(16)::int % :count = stream.shard
WHERE d.state = 'queued'
  AND d.queued_at < :now::timestamptz - (greatest(stream.age, :quick) + :slack) * interval '1 second'
  AND (d.lease_until IS NULL OR d.lease_until < now())
  AND (coalesce(d.owner, '') NOT LIKE 'pull:%'
    OR NOT EXISTS (SELECT 1 FROM webhook_endpoint e WHERE e.id = d.endpoint_id))"""
# They count as queued from now on.
_RECONCILE: Final = sql(f"""
UPDATE delivery SET queued_at = now() WHERE ctid = ANY(ARRAY(
    SELECT d.ctid {_LOST} LIMIT :batch FOR UPDATE OF d SKIP LOCKED))
RETURNING event_id, endpoint_id, attempts""")
_COUNT: Final = sql(f"SELECT count(*) {_LOST}")


async def now() -> datetime:
    """Return the database's time."""
    return await _NOW.value()  # type: ignore[no-any-return]


async def reconcile(streams: Sequence[StreamState], read_at: datetime, slack: float) -> list[Key]:
    """Take lost deliveries as queued now. Return their keys, `BATCH` at the most.

    `streams` are in order, read after `read_at` by the database's clock; `slack` the seconds that a delivery may take
    from being queued to being in its stream.
    """
    found = await _RECONCILE.rows(**_watermarks(streams), now=read_at, slack=slack, batch=BATCH)
    return [Key(*row) for row in found]


async def count_lost(streams: Sequence[StreamState], read_at: datetime, slack: float) -> int:
    """Return how many `reconcile` would add again, if it went on to the end."""
    return int(await _COUNT.value(**_watermarks(streams), now=read_at, slack=slack))


def _watermarks(streams: Sequence[StreamState]) -> dict[str, Any]:
    quick, *shards = (stream.oldest for stream in streams)
    return {"quick": quick, "shards": list(range(len(shards))), "ages": shards, "count": len(shards)}
