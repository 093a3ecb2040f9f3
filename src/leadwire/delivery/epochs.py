"""Epochs: which events were recorded on which server.

A number of a transaction orders events only among those of one server, and a standby that is promoted, or a dump that
is restored, may lack what others have seen already. So the database notes on which server it is. Where that is a new
one, it begins an epoch: its events have positions from `first_position` on, and come after all of the epochs before.

A server is known by its system identifier (a new one for each cluster), its timeline (a new one for each promotion and
each recovery to a point in time) and the object id of the table `event` (a new one for each restored dump).
"""

import logging
from datetime import datetime
from typing import Final

from msgspec import Struct
from piccolo.columns import BigInt, Text, Timestamptz
from piccolo.table import Table

from leadwire.infrastructure import clock, db, ids, telemetry
from leadwire.infrastructure.db import DB
from leadwire.infrastructure.db.declared import Declared
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named


class Epoch(Table, db=DB, tablename="epoch"):
    """What was recorded on one server, up to the first position of the next epoch. Before the first is one without."""

    declared = Declared(of="")
    server = Text(primary_key=True)
    first_position = BigInt()
    last_event = Text(null=True, default=None)  # the newest event that was there when it began
    started_at = Timestamptz()


class Began(Struct, frozen=True):
    """An epoch that followed one of another server."""

    started_at: datetime
    last_event: str | None
    """The newest event that the new server had."""

    def __str__(self) -> str:
        after = f" after {self.last_event} ({clock.iso(ids.moment(self.last_event))})" if self.last_event else ""
        return (
            f"Since {clock.iso(self.started_at)} the database is another server (failover, restore or upgrade). What"
            f" the old one recorded{after} may be lost, and numbers of deliveries that it gave may come again."
        )


_NOTED, _BEGIN, _SPANS = named(__file__, "noted begin spans")

# Waits for transactions that have recorded an event: theirs have positions of the old epoch. The parent is enough,
# because every INSERT locks it.
_LOCK: Final = "LOCK TABLE ONLY event IN SHARE ROW EXCLUSIVE MODE"
_LOCK_TIMEOUT: Final = "2s"
_NOT_NOW: Final[tuple[type[BaseException], ...]] = (*db.WITHHELD, db.NoTable, db.Locked)


async def note() -> bool:
    """Begin an epoch if this is another server than the one noted last; return whether it did.

    Every process does so before it reads or writes events, the relay also afterwards. A standby notes nothing, nor does
    a server that does not say who it is, or whose locks take too long.
    """
    try:
        if await _NOTED.value():
            return False
        async with db.transaction():
            await db.rows(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
            await db.rows(_LOCK)
            began = await _BEGIN.rows()
    except _NOT_NOW as error:
        telemetry.log("epoch.unknown", level=logging.DEBUG, error=error)
        return False
    if began and began[0]["followed"]:
        telemetry.warn("epoch.began", last_event=began[0]["last_event"])
    return bool(began)


@query()
async def begun() -> list[Began]:
    """Return the last ten times that the database became another server, the latest first."""


async def spans() -> list[tuple[int, int | None]]:
    """Return the first position of each epoch that has events, and that of the next epoch: None for the present one."""
    return [(first, end) for first, end, newest in await _SPANS.rows() if newest]
