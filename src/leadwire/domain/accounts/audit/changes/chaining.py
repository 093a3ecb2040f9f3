"""Entries of the audit logs are chained here, a moment after their commit, and dropped when retention ends.

A change writes its entry without a number and so waits for no other change. One relay at a time numbers and hashes
what has been committed since: an entry that commits later gets a higher number, whatever its id. The seal of a chain is
written in the same transaction.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable
from datetime import timedelta
from itertools import takewhile
from typing import Final

import msgspec

from leadwire.delivery.endpoints import table as endpoints
from leadwire.domain.accounts.audit import events
from leadwire.domain.accounts.audit.chain import INSTALLATION, OF_CHAIN, Seal, chained, digest, line, sealed, unsealed
from leadwire.infrastructure import clock, db, ids, telemetry
from leadwire.infrastructure.db.statements import lists, sql
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.loop import Loop

BATCH: Final = 500
_EVERY: Final = 1.0  # seconds
_DROP_EVERY: Final = 3600.0

# Whether it is for this process: the lock ends with the transaction.
_TRY_LOCK: Final = sql("SELECT pg_try_advisory_xact_lock(7225)")
# The oldest entries that are not chained. Others are skipped while a deletion of their workspace has them.
_WAITING: Final = sql(f"""
SELECT *, coalesce(workspace_id, '{INSTALLATION}') AS chain FROM audit_entry
WHERE number IS NULL AND coalesce(workspace_id, '{INSTALLATION}') <> ALL(:without::text[])
ORDER BY id LIMIT :most FOR UPDATE SKIP LOCKED""")
# The seals of chains, and the highest number in each.
_SEALS: Final = sql(f"""
SELECT given.id, c.sealed, (
    SELECT e.number FROM audit_entry e WHERE coalesce(e.workspace_id, '{INSTALLATION}') = given.id
    AND e.number IS NOT NULL ORDER BY e.number DESC LIMIT 1) AS highest
FROM unnest(:ids::text[]) AS given (id) LEFT JOIN audit_chain c ON c.id = given.id""")
# Number and hash entries.
_CHAIN: Final = sql("""
UPDATE audit_entry e SET number = given.number, hash = given.hash
FROM unnest(:ids::text[], :numbers::bigint[], :hashes::bytea[]) AS given (id, number, hash) WHERE e.id = given.id""")
_SEAL: Final = sql(f"""
INSERT INTO audit_chain (id, workspace_id, sealed)
SELECT given.id, nullif(given.id, '{INSTALLATION}'), given.sealed
FROM unnest(:ids::text[], :seals::bytea[]) AS given (id, sealed)
ON CONFLICT (id) DO UPDATE SET sealed = excluded.sealed""")
# The chains of the oldest entries.
_OLD: Final = sql(f"""
SELECT DISTINCT coalesce(workspace_id, '{INSTALLATION}') AS chain FROM (
    SELECT workspace_id FROM audit_entry WHERE id < :before ORDER BY id LIMIT :most) oldest""")
_OF_CHAIN: Final = f"{OF_CHAIN} AND number IS NOT NULL"
_FIRST: Final = sql(f"SELECT id, number, hash FROM audit_entry WHERE {_OF_CHAIN} ORDER BY number LIMIT :most")
_DROP: Final = sql(f"DELETE FROM audit_entry WHERE {_OF_CHAIN} AND number <= :last")
_NOW: Final = sql("SELECT now()")

_told: set[str] = set()  # chains that were logged as unreadable


async def run(stop: asyncio.Event, retention_days: int) -> None:
    """Chain what is written, each second, and drop what is past retention, each hour, until `stop` is set."""
    dropped, now = float("-inf"), asyncio.get_running_loop().time

    async def look() -> float:
        nonlocal dropped
        if now() - dropped > _DROP_EVERY:
            while await drop(timedelta(days=retention_days)):
                pass
            dropped = now()
        return 0.0 if await chain() == BATCH else _EVERY

    await Loop("audit", look).run(stop)


async def chain() -> int:
    """Chain a batch of entries; tell endpoints that want to know. Return how many entries there were."""
    unreadable: set[str] = set()
    while True:
        async with db.transaction():
            found = await _WAITING.rows(most=BATCH, without=list(unreadable)) if await _TRY_LOCK.value() else []
            seals = await _seals({row["chain"] for row in found})
            if set(seals) == {row["chain"] for row in found}:
                await _chain(found, seals)
                return len(found)
        unreadable |= {row["chain"] for row in found} - set(seals)  # whose entries stay as they are; the others go on


async def _chain(found: list[db.Row], seals: dict[str, Seal]) -> None:
    if not found:
        return
    made = []
    for row in found:
        seal = seals[row["chain"]]
        entry = line(row, seal.last + 1)
        hashed = digest(seal.last_hash, entry)
        seals[row["chain"]] = msgspec.structs.replace(seal, last=entry.number, last_hash=hashed)
        made.append((row["id"], entry.number, hashed))
    await _CHAIN.rows(**lists("ids numbers hashes", made))
    await _write(seals.values())
    wanted = await endpoints.subscribed(events.KIND, {row["workspace_id"] for row in found} - {None})
    for row, (_, number, hashed) in zip(found, made, strict=True):
        if row["workspace_id"] in wanted:
            await events.recorded(row["workspace_id"], chained({**row, "number": number, "hash": hashed})).record()


async def drop(age: timedelta, only: str = "") -> int:
    """Drop the oldest entries of chains, or of one `only`, that are older than `age`. Return how many of a batch.

    Those are dropped that come before every younger one, and the seal keeps the last: the rest can still be verified.
    """
    count = 0
    async with db.transaction():
        if not await _TRY_LOCK.value():
            return 0
        # A wrong clock alone, the database's or ours, makes no entry old.
        before = ids.floor("aud", min(await _NOW.value(), clock.now()) - age)
        chains = [only] if only else [row["chain"] for row in await _OLD.rows(before=before, most=BATCH)]
        seals = await _seals(chains)
        for name, seal in seals.items():
            first = await _FIRST.rows(chain=name, most=BATCH)
            old = list(takewhile(lambda row: row["id"] < before, first))
            if old:
                last = old[-1]
                await _DROP.rows(chain=name, last=last["number"])
                seals[name] = msgspec.structs.replace(seal, dropped=last["number"], dropped_hash=last["hash"])
                count += len(old)
        if count:
            await _write(seals.values())
    return count


async def _seals(chains: Collection[str]) -> dict[str, Seal]:
    """The seals of chains, without those that no key of ours opens.

    Where the last entry of a chain or its seal was taken away, the chain goes on behind the gap, which stays visible.
    """
    seals = {}
    for name, stored, highest in await _SEALS.rows(ids=list(chains)) if chains else ():
        try:
            seal = unsealed(name, stored) if stored else Seal(name)
        except OperatorError as error:
            if name not in _told:
                _told.add(name)
                telemetry.log("audit.unreadable", level=logging.ERROR, error=error, chain=name)
            continue
        seals[name] = msgspec.structs.replace(seal, last=max(seal.last, highest or 0))
    return seals


async def _write(seals: Iterable[Seal]) -> None:
    await _SEAL.rows(**lists("ids seals", [(seal.chain, sealed(seal)) for seal in seals]))
