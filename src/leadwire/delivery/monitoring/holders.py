"""What others do on the database server that makes ours wait or cost more: for gauges, and for `leadwire doctor`.

Dead rows are kept as long as a snapshot may still see them: that of a transaction, a prepared one, a replication slot,
or a standby with feedback. Each look at a table of open work then reads them all. Of other roles' transactions only
members of `pg_monitor` see anything.
"""

import asyncio
import shutil
from typing import Final, Literal, NamedTuple

from msgspec import Struct

from leadwire.infrastructure import db
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import load
from leadwire.infrastructure.telemetry.metrics import LookedUp

RECORDING: Final = LookedUp(
    "feed_held_back_seconds",
    "Age of the oldest open transaction that has recorded an event: the feed holds back what was recorded since.",
)
SECONDS: Final = LookedUp(
    "oldest_snapshot_seconds",
    "Age of the oldest transaction that keeps dead rows from being removed. held_by transaction or prepared.",
    "held_by",
)
TRANSACTIONS: Final = LookedUp(
    "oldest_snapshot_transactions",
    "Transactions of the server since the oldest snapshot. held_by transaction, prepared, slot or standby.",
    "held_by",
)
WAL: Final = LookedUp(
    "slot_retained_bytes", "Log that the server keeps for the replication slot that is furthest behind."
)
DEAD: Final = LookedUp("dead_rows", "Rows that vacuum has yet to remove from a table of open work, estimated.", "table")
SPACE: Final = LookedUp(
    "database_space_free_ratio", "Free share of the disk with PostgreSQL's files, where the observer runs beside them."
)

_STATEMENTS: Final = load(__file__)


class Holder(Struct, frozen=True):
    """Who holds something. `transactions`: of the server, since its snapshot; `wal`: bytes of the log; None: none."""

    kind: Literal["transaction", "prepared", "slot", "standby"]
    name: str
    about: str
    transactions: int | None
    seconds: float | None
    """Since its transaction began; None: not known."""
    wal: int | None
    query: str
    """The beginning of its last statement."""

    def __str__(self) -> str:
        said = [f"{self.kind} {self.name} ({self.about})"]
        if self.seconds is not None:
            said.append(f"open for {self.seconds:.0f} s")
        if self.transactions is not None:
            said.append(f"its snapshot is {self.transactions} transactions old")
        if self.wal is not None:
            said.append(f"keeps {self.wal >> 20} MiB of the log")
        return ", ".join(said) + (f": {self.query}" if self.query else "")


class Disk(NamedTuple):
    """That of the server's files, in bytes."""

    folder: str
    free: int
    total: int


async def disk() -> Disk | None:
    """Return what is free where the server's files are; None where that cannot be known from this machine."""
    folder = await _STATEMENTS["files"].value()
    try:
        usage = await asyncio.to_thread(shutil.disk_usage, folder) if folder else None
    except OSError:
        return None
    return Disk(folder, usage.free, usage.total) if usage else None


@query()
async def holders() -> list[Holder]:
    """Return who keeps dead rows, or files of the log, from being removed; the oldest snapshots first."""


async def dead_rows() -> dict[str, float]:
    """Return how many rows vacuum has yet to remove from each table of open work."""
    return {row["label"]: row["value"] for row in await _STATEMENTS["held"].rows() if row["gauge"] == "dead"}


async def update() -> None:
    """Look it up and show it. Raise what the database raises."""
    async with db.transaction():
        await db.rows("SET LOCAL statement_timeout = '1s'")
        held, holding, space = await _STATEMENTS["held"].rows(), await holders(), await disk()
    SPACE.show_all({(): space.free / space.total} if space else {})
    RECORDING.show(next(row["value"] for row in held if row["gauge"] == "recording"))
    DEAD.show_all({(row["label"],): row["value"] for row in held if row["gauge"] == "dead"})
    WAL.show(max((holder.wal or 0 for holder in holding), default=0))
    snapshots = [holder for holder in holding if holder.transactions is not None]
    for gauge, field, kinds in (
        (SECONDS, "seconds", ("transaction", "prepared")),
        (TRANSACTIONS, "transactions", ("transaction", "prepared", "slot", "standby")),
    ):
        ages = {
            kind: [getattr(snapshot, field) or 0 for snapshot in snapshots if snapshot.kind == kind] for kind in kinds
        }
        gauge.show_all({(kind,): max(values, default=0) for kind, values in ages.items()})
