"""Events that were left to the relay become deliveries, one per enabled and subscribed endpoint.

One workspace at a time, in a transaction that no other relay has for the same workspace at once: so deliveries are made
in the order of the events.
"""

from typing import Final, NamedTuple

from leadwire.delivery import metrics
from leadwire.delivery.streams import Key
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import load

DELIVERIES: Final = 2000
"""Deliveries of a batch, unless one event alone makes more."""
_WORKSPACES: Final = 20  # a round
_PATIENCE: Final = "100ms"  # for an endpoint that somebody is changing: the other workspaces wait as well

_SQL: Final = load(__file__)
_BUSY, _HAVE, _WAKE, _FAN_OUT = (_SQL[name] for name in ("busy", "have", "wake", "fan_out"))


class FanOut(NamedTuple):
    """How many events were relayed, the keys to put into the streams, and how many deliveries have to wait. `after`
    is where the next round begins, '' for the first workspace.
    """

    events: int
    keys: list[Key]
    waiting: int
    after: str


async def fan_out(after: str = "", deliveries: int = DELIVERIES) -> FanOut:
    """Relay a batch of each of the workspaces that follow `after` and have events."""
    busy = [row["workspace_id"] for row in await _BUSY.rows(after=after, most=_WORKSPACES)]
    events, waiting, keys = 0, 0, list[Key]()
    for workspace in busy:
        try:
            found = await _of_workspace(workspace, deliveries // len(busy))
        except db.Locked:
            continue  # the next round tries again
        ages = [row["age"] for row in found if row["age"] is not None]
        made = [row for row in found if row["age"] is None]
        metrics.relayed(ages)
        events += len(ages)
        queued = [Key(row["event_id"], row["endpoint_id"], 0) for row in made if row["state"] == "queued"]
        keys += queued
        waiting += len(made) - len(queued)
    return FanOut(events, keys, waiting, busy[-1] if len(busy) == _WORKSPACES else "")


async def _of_workspace(workspace: str, deliveries: int) -> list[db.Row]:
    async with db.transaction():
        if not await _HAVE.value(workspace=workspace, patience=_PATIENCE):
            return []
        closed = [row["id"] for row in await _WAKE.rows(workspace=workspace)]
        return await _FAN_OUT.rows(workspace=workspace, deliveries=deliveries, closed=closed)
