"""Entries of the audit logs are chained here, a moment after their commit, and dropped when retention ends.

A change writes its entry without a number and so waits for no other change. A job for each chain numbers and hashes
what has been committed since: an entry that commits later gets a higher number, whatever its id. The seal of the chain
is written in the same transaction. Chains have no turns: that of a suspended workspace goes on.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from itertools import takewhile
from typing import Final

from msgspec import structs

from leadwire.delivery.endpoints import table as endpoints
from leadwire.domain.accounts.audit import events, heads
from leadwire.domain.accounts.audit.chain import INSTALLATION, Seal, chained, digest, line, sealed, unsealed, weight
from leadwire.domain.accounts.table import AuditCount
from leadwire.infrastructure import clock, db, ids, settings, telemetry
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import columns, insert, lists, named
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.jobs import Again, Claimed, Offer, job

BATCH: Final = 500

_TRY_LOCK, _WAITING, _READ, _CHAIN, _ADD_UP, _SEAL, _OLD, _FIRST, _DROP, _KEPT = named(
    __file__, "try_lock waiting read chain add_up seal old first drop kept"
)
_ENDS, _TOLD, _NOW = named(__file__, "ends told now")
_COUNT: Final = insert(*columns(AuditCount, "id workspace_id entries digests"))
_LONGER: Final = "PostgreSQL keeps entries for longer: run `leadwire migrate` with this LEADWIRE_AUDIT_RETENTION_DAYS"


@query()
async def unchained() -> list[Offer]:
    """Return the chains with entries that are not chained."""


@job("audit.chain", find=unchained, every=1.0)
async def chain(job: Claimed) -> Again | None:
    """Chain a batch of entries; tell endpoints that want to know. Raise what `_seal` raises: the entries stay."""
    async with db.transaction():
        seal = await _seal(job.key)
        rows = await _WAITING.rows(chain=job.key, most=BATCH)
        if rows:
            await _chain(rows, seal)
            await _ADD_UP.rows(id=ids.new("aud"), chain=job.key)
    return Again() if len(rows) == BATCH else None


async def old() -> list[Offer]:
    """Return the chains that have entries past retention."""
    before = ids.floor("aud", await _oldest())
    return [Offer(*row) for row in await _OLD.rows(before=before)]


@job("audit.drop", at_once=4, find=old, every=3600.0)
async def drop(job: Claimed) -> Again | None:
    """Drop the oldest entries of a chain that are past retention.

    Those are dropped that come before every younger one, and the seal keeps the last: the rest can still be verified.
    """
    async with db.transaction():
        before, seal = ids.floor("aud", await _oldest()), await _seal(job.key)
        first = await _FIRST.rows(chain=job.key, most=BATCH)
        rows = list(takewhile(lambda row: row["id"] < before, first))
        if rows:
            last = rows[-1]
            await _DROP.rows(chain=job.key, last=last["number"])
            if await _KEPT.row(chain=job.key, last=last["number"]):
                raise OperatorError(_LONGER)
            weights = [weight(row) for row in rows if row["in_count"]]
            taken = {"entries": -len(weights), "digests": Decimal(-sum(weights))}
            await _COUNT.rows(id=ids.new("aud"), workspace_id=last["workspace_id"], **taken)
            seal = structs.replace(seal, dropped=last["number"], dropped_hash=last["hash"])
            await _SEAL.rows(chain=seal.chain, sealed=sealed(seal))
    return Again() if len(rows) == BATCH else None


@query()
async def due() -> list[Offer]:
    """Return the chains that have become longer since their heads were told."""


@job("audit.head", batch=100, find=due)
async def tell(batch: Sequence[Claimed]) -> None:
    """Tell the log and LEADWIRE_AUDIT_HEAD_URL how far some chains go. Raise what `unsealed` and `send` raise."""
    rows = await _ENDS.rows(chains=[job.key for job in batch])
    signed = [heads.signed(unsealed(*row)) for row in rows]
    for head in signed:
        telemetry.log("audit.head", head=head)
    if rows:
        await heads.send(signed)
        await _TOLD.rows(**lists("ids seals", rows))


async def _oldest() -> datetime:
    """A wrong clock alone, the database's or ours, makes no entry old."""
    now: datetime = await _NOW.value()
    return min(now, clock.now()) - timedelta(days=settings.get().audit_retention_days)


async def _chain(rows: list[db.Row], seal: Seal) -> None:
    chain, numbered = seal.chain, []
    for row in rows:
        entry = line(row, seal.last + 1)
        seal = structs.replace(seal, last=entry.number, last_hash=digest(seal.last_hash, entry))
        numbered.append((row["id"], seal.last, seal.last_hash))
    await _CHAIN.rows(**lists("ids numbers hashes", numbered))
    await _SEAL.rows(chain=chain, sealed=sealed(seal))
    if chain != INSTALLATION and await endpoints.subscribed(events.KIND, chain):
        for row, (_, number, hashed) in zip(rows, numbered, strict=True):
            await events.recorded(chain, chained({**row, "number": number, "hash": hashed})).record()


async def _seal(chain: str) -> Seal:
    """Lock a chain and return its seal. Raise db.Locked, and OperatorError where no key of ours opens it.

    Where the last entry of a chain or its seal was taken away, the chain goes on behind the gap, which stays visible.
    """
    if not await _TRY_LOCK.value(chain=chain):
        raise db.Locked(f"another process has the audit log of {chain}")
    row = await _READ.row(chain=chain)
    stored, highest = row or (None, None)
    seal = unsealed(chain, stored) if stored else Seal(chain)
    return structs.replace(seal, last=max(seal.last, highest or 0))
