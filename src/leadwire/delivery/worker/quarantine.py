"""Deliveries that kill or block whichever worker takes them are set aside until an operator releases them.

They are no dead letters: the receiver has done nothing wrong. Until released they wait, due never.
"""

import functools
from collections.abc import Collection, Sequence

from leadwire.delivery import metrics
from leadwire.delivery.endpoints import due
from leadwire.delivery.streams import Entry, Key, push
from leadwire.delivery.worker.claim import asked
from leadwire.infrastructure import db, jobs, telemetry
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named

_SET_ASIDE, _ENDPOINTS, _RELEASE = named(__file__, "set_aside endpoints release")


async def set_aside(entries: Sequence[Entry], owner: str = "", gone: Collection[str] = ()) -> list[tuple[str, str]]:
    """Set the deliveries of `entries` aside for `owner`, also those of workers that are `gone`; another may be sending
    its own just now. Return their events and endpoints.
    """
    values = asked([entry.key for entry in entries]) | {"owner": owner, "gone": list(gone)}
    async with db.transaction():
        rows = await _SET_ASIDE.rows(**values)
        ordered = {jobs.Offer(endpoint_id, workspace) for _, endpoint_id, workspace, subject in rows if subject}
        await jobs.add_all("discard", list(ordered))  # what was redriven before it in its order may go
    for event_id, endpoint_id, workspace_id, _ in rows:
        metrics.SET_ASIDE.inc()
        names = {"event_id": event_id, "endpoint_id": endpoint_id, "workspace_id": workspace_id}
        telemetry.fail("delivery.set_aside", **names)
    return [(event_id, endpoint_id) for event_id, endpoint_id, *_ in rows]


async def release(event_id: str | None = None) -> int:
    """Let the deliveries that were set aside be tried again, of one event or all. Return how many there were."""
    async with db.transaction():
        await due.wake({row["endpoint_id"] for row in await _ENDPOINTS.rows(event_id=event_id)})
        rows = await _RELEASE.rows(event_id=event_id)
        keys = [Key(*key) for *key, state in rows if state == "queued"]
        db.after_commit(functools.partial(push.push, keys))
    return len(rows)


@query()
async def listed() -> list[tuple[str, str, str]]:
    """Return event, endpoint and kind of each, the oldest first."""
