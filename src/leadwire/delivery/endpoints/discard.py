"""Cancel what waits for an endpoint: of one that was removed, or that somebody wants to be empty.

There may be hundreds of thousands, so a row of `discard` says what is to go, and a job does it some at a time. Without
a row, it only lets go on what waited in an order for others that were erased or set aside.
"""

from collections.abc import Collection
from typing import Final

from piccolo.columns import Text, Timestamptz
from piccolo.table import Table

from leadwire.delivery.endpoints import due
from leadwire.infrastructure import batches, db, jobs
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named

BATCH: Final = 1000  # deliveries


class Discard(Table, db=DB, tablename="discard"):
    """Deliveries to one endpoint that were made before `until` are to be canceled; all once it is removed."""

    declared = Declared(
        refers="delivery", late="true", by_hand="deletion",
        rows="endpoint_id IN (SELECT endpoint_id FROM delivery WHERE workspace_id = $1)",
    )  # fmt: skip
    endpoint_id = Text(primary_key=True)
    until = Timestamptz()


_START, _ONE, _WAITING, _CANCEL, _HELD = named(__file__, "start one waiting cancel held")


async def start(endpoint_id: str, workspace: str = "") -> None:
    """Let all be canceled that waits for this endpoint now. Retries are among it; what is being sent is not."""
    async with db.transaction():
        await _START.rows(endpoint_id=endpoint_id)
        await jobs.add("discard", endpoint_id, workspace)


async def wake(endpoint_ids: set[str], *, stay_open: bool = True, roomy: Collection[str] = ()) -> None:
    """Wake endpoints for deliveries that are going to wait, or for room (`roomy`); what waits for one that was removed
    is canceled.
    """
    ready = await due.wake(endpoint_ids, stay_open=stay_open, roomy=roomy)
    for endpoint_id in sorted(endpoint_ids - ready.keys()):
        await start(endpoint_id)


@query()
async def count(endpoint_id: str) -> int:
    """Return how many deliveries wait for an endpoint."""


async def step(endpoint_id: str) -> int:
    """Cancel a batch of what is to be discarded of an endpoint; after the last one, or where nothing is, send what
    waited behind others that are gone. Return how many deliveries were canceled; after 0 it is done. Raise db.Locked
    when somebody has locked the endpoint or some of them.
    """
    async with db.transaction():
        await due.PATIENCE.rows()
        exists = await due.wake([endpoint_id])  # first: a deletion locks the endpoint, and then what is asked for
        until = await _ONE.value(endpoint_id=endpoint_id)
        values = {"endpoint_id": endpoint_id, "until": until, "gone": not exists, "batch": BATCH}
        rows = await _WAITING.rows(**values) if until else ()
        events = [row[0] for row in rows]
        if not events:
            await Discard.delete().where(Discard.endpoint_id == endpoint_id)
            if exists:
                await due.release_first(await _HELD.rows(endpoint_id=endpoint_id))
            return 0
        return await batches.most(
            events, lambda part: _CANCEL.rows(endpoint_id=endpoint_id, events=part), "delivery.not_discarded"
        )
