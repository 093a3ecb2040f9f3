"""What Redis lost goes back to `waiting`: this is what makes Redis disposable.

Finished entries are deleted, so the oldest entry of a stream is a watermark: a delivery queued well before it has no
entry any more. That is O(1) to see, raises no false alarm under a backlog (the watermark is old then too), and heals a
flush, a failover that lost its last second, an eviction, a relay that died between commit and XADD.
"""

from collections.abc import Sequence
from typing import Any, Final

from leadwire.delivery.streams import StreamState
from leadwire.infrastructure.db.statements import sql

# Queued deliveries that are older than the oldest entry of their stream, by more than the slack.
_LOST: Final = """unnest(:shards::int[], :ages::float8[]) AS stream(shard, age)
WHERE d.state = 'queued'
  AND ('x' || substr(md5(d.endpoint_id), 1, 4))::bit(16)::int % :count = stream.shard
  AND d.queued_at < now() - (stream.age + :slack) * interval '1 second'"""
# They wait again, due now; how many they are.
_RECONCILE: Final = sql(
    f"UPDATE delivery d SET state = 'waiting', due_at = now(), queued_at = NULL FROM {_LOST} RETURNING 1"
)
_COUNT: Final = sql(f"SELECT count(*) FROM delivery d, {_LOST}")


async def reconcile(streams: Sequence[StreamState], slack: float) -> int:
    """Put lost deliveries back. Return how many there were.

    `streams` are as just read, in order; `slack` the seconds that a delivery may take from being queued to being in
    its stream.
    """
    return len(await _RECONCILE.rows(**_watermarks(streams), slack=slack))


async def count_lost(streams: Sequence[StreamState], slack: float) -> int:
    """Return how many `reconcile` would put back."""
    return int(await _COUNT.value(**_watermarks(streams), slack=slack))


def _watermarks(streams: Sequence[StreamState]) -> dict[str, Any]:
    return {
        "shards": list(range(len(streams))),
        "ages": [stream.oldest for stream in streams],
        "count": len(streams),
    }
