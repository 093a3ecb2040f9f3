"""When the relay has to look at an endpoint.

Whoever lets a delivery wait, or makes room for one, calls `wake` first, in the same transaction. It locks the
endpoint's row, and so does admission: neither misses what the other does. That is the order of all locks: endpoints by
id, then deliveries.

A new due time is a new entry in each index of endpoints, which stays there while somebody holds an old snapshot, and
each later one reads them all. So a row that need not change does not, and nor does a due time that is soon, where the
relay itself is to look at the endpoint now.
"""

from collections.abc import Collection
from typing import Any, Final

from leadwire.infrastructure.db.statements import lists, named, sql

PATIENCE: Final = sql("SELECT set_config('lock_timeout', '200ms', true)")
"""Where many endpoints are woken at once: one that somebody is changing is tried again later."""
_WAKE, _RELEASE_FIRST = named(__file__, "wake release_first")


async def wake(
    endpoint_ids: Collection[str], *, stay_open: bool = True, roomy: Collection[str] = (), soon: float = 0.0
) -> dict[str, bool]:
    """Lock endpoints, and let the relay look at them after the commit. Return those that exist, and whether
    each wants order.

    Unless `stay_open`, deliveries are no longer queued past those that wait. `roomy` are those that have only got room
    for another delivery. Those that are due within `soon` seconds stay due then: the caller is the relay.
    """
    if not endpoint_ids:
        return {}
    rows = await _WAKE.rows(ids=sorted(set(endpoint_ids)), open=stay_open, roomy=list(roomy), soon=soon)
    return {row["id"]: row["ordered"] for row in rows}


async def release_first(pairs: Collection[Any]) -> None:
    """Let the first unfinished delivery of each (endpoint, subject) be sent. The endpoints are locked by `wake`."""
    if pairs:
        await wake({row[0] for row in await _RELEASE_FIRST.rows(**lists("endpoints subjects", pairs))})
