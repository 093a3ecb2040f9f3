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
from leadwire.infrastructure.db.statements import sql


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


_SERVER: Final = """(SELECT concat_ws('-', system_identifier, left(pg_walfile_name(pg_current_wal_insert_lsn()), 8),
    'event'::regclass::oid) FROM pg_control_system())"""
# Whether this server is the latest one that was noted.
_NOTED: Final = sql(f"SELECT server = {_SERVER} FROM epoch ORDER BY first_position DESC LIMIT 1")
# Begin an epoch, unless somebody else has. A process that was running may have recorded events on a standby that was
# promoted before it is noted: those are no part of what it had. One that had replayed nothing had what was there when
# it started. On its first timeline a server was no standby.
_BEGIN: Final = sql(f"""
INSERT INTO epoch (first_position, server, last_event)
SELECT nextval('outbox_position'), {_SERVER},
    (SELECT max(id) FROM event WHERE recorded_at <= coalesce(pg_last_xact_replay_timestamp(),
        CASE WHEN pg_walfile_name(pg_current_wal_insert_lsn()) LIKE '00000001%' THEN 'infinity'
        ELSE pg_postmaster_start_time() END))
WHERE {_SERVER} IS DISTINCT FROM (SELECT server FROM epoch ORDER BY first_position DESC LIMIT 1)
RETURNING last_event, EXISTS (SELECT 1 FROM epoch) AS followed""")
# The epochs that followed one of another server, the latest first.
_BEGUN: Final = sql("""
SELECT started_at, last_event FROM (SELECT *, lag(server) OVER (ORDER BY first_position) AS before FROM epoch) epoch
WHERE before IS NOT NULL ORDER BY first_position DESC LIMIT 10""")

# The first position of each epoch, that of the next one, and the newest event before that. One before all is not noted.
_SPANS: Final = sql("""
SELECT first_position, lead(first_position) OVER up, lead(last_event, 1, 'evt_z') OVER up AS newest
FROM (SELECT first_position, last_event FROM epoch UNION ALL VALUES (0, NULL)) epoch
WINDOW up AS (ORDER BY first_position) ORDER BY first_position""")

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
        telemetry.log("epoch.began", level=logging.WARNING, last_event=began[0]["last_event"])
    return bool(began)


async def begun() -> list[Began]:
    """Return the last ten times that the database became another server, the latest first."""
    return [Began(*row) for row in await _BEGUN.rows()]


async def spans() -> list[tuple[int, int | None]]:
    """Return the first position of each epoch that has events, and that of the next epoch: None for the present one."""
    return [(first, end) for first, end, newest in await _SPANS.rows() if newest]
