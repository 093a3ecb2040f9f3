"""What Redis lost goes back to `waiting`: this is what makes Redis disposable.

Finished entries are deleted, so the oldest entry of a stream is a watermark: a delivery queued well before it has no
entry any more. That is O(1) to see, raises no false alarm under a backlog (the watermark is old then too), and heals a
flush, a failover that lost its last second, an eviction, a relay that died between commit and XADD.
"""

from collections.abc import Sequence
from typing import Final

from leadwire.delivery.streams import Load
from leadwire.infrastructure import db

# Of streams $1 whose oldest entries have ages $2, $3 in all, with a slack of $4 s.
_LOST: Final = """unnest($1::int[], $2::float8[]) AS stream(shard, age)
WHERE d.state = 'queued'
  AND ('x' || substr(md5(d.endpoint_id), 1, 4))::bit(16)::int % $3 = stream.shard
  AND d.queued_at < now() - (stream.age + $4) * interval '1 second'"""
_RECONCILE: Final = (
    f"UPDATE delivery d SET state = 'waiting', due_at = now(), queued_at = NULL FROM {_LOST} RETURNING 1"
)
_COUNT: Final = f"SELECT count(*) FROM delivery d, {_LOST}"


async def reconcile(loads: Sequence[Load], slack: float) -> int:
    """Put lost deliveries back. Answers how many there were.

    `loads` are the streams' as just read, in order; `slack` the seconds from queueing to being in the stream that are
    nothing unusual.
    """
    return len(await db.rows(_RECONCILE, *_watermarks(loads), slack))


async def lost(loads: Sequence[Load], slack: float) -> int:
    """How many there are, with the same parameters."""
    return int(await db.value(_COUNT, *_watermarks(loads), slack))


def _watermarks(loads: Sequence[Load]) -> tuple[list[int], list[float], int]:
    return list(range(len(loads))), [load.oldest for load in loads], len(loads)
