"""The audit log read back: listed, exported in the order of its chain, and verified from the first entry kept on."""

import itertools
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct

from leadwire.domain.accounts.audit.chain import AuditRecorded, Seal, chained, digest, line, unsealed, weight
from leadwire.domain.accounts.audit.heads import Head
from leadwire.domain.accounts.table import AuditChain
from leadwire.domain.listing.keyset import Found, Keyset
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db import statements
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.errors import OperatorError

_PAGE: Final = 500
_SOON: Final = 60  # seconds until an entry has to be chained

_ENTRIES, _WAITING, _UNCHAINED, _COUNT, _ENDED, _ONE_MOMENT = statements.named(
    __file__, "entries waiting unchained count ended one_moment"
)
_LOG: Final = Keyset(
    make=dict[str, Any],
    table="audit_entry",
    columns="id, at, actor, action, subject, detail, address",
    filters={
        "actor": "actor = :actor", "action": "action = :action", "subject": "subject = :subject",
        "first": "id >= :first", "end": "id < :end",
    },
    key={"id": "text"},
)  # fmt: skip
# The values of a column, each found by one step through an index: a DISTINCT would read the whole log.
_VALUES: Final = """
WITH RECURSIVE logged AS (
    (SELECT {0} AS value FROM audit_entry WHERE workspace_id = :workspace ORDER BY {0} LIMIT 1)
    UNION ALL
    SELECT (SELECT {0} FROM audit_entry WHERE workspace_id = :workspace AND {0} > logged.value ORDER BY {0} LIMIT 1)
    FROM logged WHERE logged.value IS NOT NULL
) SELECT value FROM logged WHERE value IS NOT NULL"""
_LOGGED: Final = {column: statements.sql(_VALUES.format(column)) for column in ("actor", "action")}


class LogQuery(Struct, frozen=True, kw_only=True):
    """Filters of the list, and where its page begins."""

    actor: Annotated[str, Meta(max_length=320)] = ""
    action: Annotated[str, Meta(max_length=100)] = ""
    subject: Annotated[str, Meta(max_length=320)] = ""
    since: Annotated[datetime, Meta(tz=True)] | None = None
    until: Annotated[datetime, Meta(tz=True)] | None = None
    """Days (UTC), both included."""
    after: Annotated[str, Meta(max_length=100)] = ""

    @property
    def first(self) -> str:
        """The first id of that time."""
        return ids.floor("aud", self.since) if self.since else ""

    @property
    def end(self) -> str:
        """The first id behind it."""
        return ids.floor("aud", self.until + timedelta(days=1)) if self.until else ""


class Verified(Struct, frozen=True):
    """What was found of a chain. `fault` is the first thing that is wrong, or None."""

    chain: str
    entries: int
    first: int
    last: int
    waiting: int
    """Entries that are not chained yet."""
    overdue: bool
    """Whether one of these waits for more than a minute: then no background process runs, or its job fails."""
    fault: str | None


async def page(workspace: str, query: LogQuery, limit: int = 50) -> Found[dict[str, Any]]:
    """One page of the audit log, newest first. Raise InvalidParameter for a bad `after`."""
    return await _LOG.page(workspace, query, query.after, limit)


@query()
async def of_installation() -> list[db.Row]:
    """The latest entries about the installation: which workspaces were deleted, and when."""


def folded(entries: Sequence[dict[str, Any]], *, every: bool) -> list[list[dict[str, Any]]]:
    """What each person looked at without a change between is together, unless `every` entry was asked for."""

    def run(entry: dict[str, Any]) -> object:
        looked = entry["action"].endswith((".read", ".listed")) and not every
        return (entry["actor"], entry["address"]) if looked else entry["id"]

    return [list(several) for _, several in itertools.groupby(entries, run)]


async def named(workspace: str, column: Literal["actor", "action"]) -> list[str]:
    """Everybody whom the audit log names, or every kind of action in it."""
    return [row["value"] for row in await _LOGGED[column].rows(workspace=workspace)]


@query()
async def chains() -> list[str]:
    """The names of all chains that there are, or should be: ids of workspaces, and that of the installation."""


async def entries(chain: str, after: int = 0, since: datetime | None = None) -> AsyncIterator[AuditRecorded]:
    """The chained entries of a log by their numbers, those above `after` that were written at `since` or later."""
    async for row in _rows(chain, after):
        if since is None or row["at"] >= since:
            yield chained(row)


async def ndjson(chain: str) -> AsyncIterator[bytes]:
    """All of them, a JSON document a line."""
    async for entry in entries(chain):
        yield msgspec.json.encode(entry) + b"\n"


async def ended(chains: Collection[str]) -> dict[str, str]:
    """When workspaces were deleted or moved away, of those with these ids. Only what the service wrote counts."""
    return {row["subject"]: clock.iso(row["at"]) for row in await _ENDED.rows(chains=list(chains))}


async def verify(chain: str, kept: Collection[Head] = ()) -> Verified:
    """Compute every hash of a chain again, and compare the last with the seal, others with heads of it that were kept
    elsewhere.
    """
    async with db.transaction():
        await _ONE_MOMENT.rows()
        waiting, overdue = await _WAITING.one(AssertionError(), chain=chain, since=clock.ago(seconds=_SOON))
        sealed = await AuditChain.select(AuditChain.sealed).where(AuditChain.id == chain).output(as_list=True)
        try:
            seal = unsealed(chain, sealed[0]) if any(sealed) else Seal(chain)
        except OperatorError:
            why = "its seal was changed, or made with a key that is not in LEADWIRE_SECRET_KEY"
            return Verified(chain, 0, 0, 0, waiting, overdue, why)
        count, number, before, fault = 0, seal.dropped, seal.dropped_hash, None
        numbers, hashes = {head.number for head in kept}, {number: before}
        unchained = await _UNCHAINED.rows(chain=chain)
        counted, digests = len(unchained), sum(map(weight, unchained))
        async for row in _rows(chain):
            if fault := _fault(row, number, before, seal):
                break
            count, number, before = count + 1, row["number"], row["hash"]
            if number in numbers:
                hashes[number] = before
            if row["in_count"]:
                counted, digests = counted + 1, digests + weight(row)
        if not fault and number < seal.last:
            fault = _missing(number + 1, seal.last)
        elif not fault and before != seal.last_hash:
            fault = f"entry {number} is not the one that was sealed: the log was written anew"
        fault = fault or _disowned(kept, hashes) or await _miscounted(chain, counted, digests)
        return Verified(chain, count, number - count + 1, number, waiting, overdue, fault)


def _fault(row: db.Row, number: int, before: bytes, seal: Seal) -> str | None:
    """What is wrong about an entry that should follow `number` with the hash `before`; None when nothing is."""
    here, at = row["number"], f"entry {row['number']} ({row['id']}, {row['action']})"
    if here <= number:
        return f"{at} was put in: number {here} " + (
            "was dropped long ago" if here <= seal.dropped else "is there twice"
        )
    if here > seal.last:
        return f"{at} was put in: the chain ends with {seal.last}"
    if here > number + 1:
        return _missing(number + 1, here - 1)
    if row["hash"] != digest(before, line(row, here)):
        return f"{at} was changed or put in, or the hash of the one before it was changed"
    return None


def _disowned(kept: Collection[Head], hashes: Mapping[int, bytes]) -> str | None:
    """What is wrong when a chain is not what its heads say, by the hashes at their numbers. The first number of these
    is that of the last entry that was dropped.
    """
    for head in sorted(kept, key=lambda head: head.number):
        if head.number >= min(hashes) and hashes.get(head.number, b"").hex() != head.hash:
            return f"entry {head.number} is gone, or not that of the head of {head.at}: the log was put back"
    return None


async def _miscounted(chain: str, counted: int, digests: int) -> str | None:
    """What is wrong when the entries of a chain that say that they are counted are not those of its count."""
    written, total = await _COUNT.row(chain=chain) or (counted, digests)
    if written != counted:
        return f"{written} entries were written and counted, and {counted} of these are here"
    return None if total == digests else "an entry was changed or replaced before it was chained"


def _missing(first: int, last: int) -> str:
    return f"entry {first} is missing" if first == last else f"the entries from {first} to {last} are missing"


async def _rows(chain: str, number: int = 0) -> AsyncIterator[db.Row]:
    """The chained rows above a number. There are none below 1 unless somebody has put them in."""
    cursor = {"number": number, "id": "z"} if number else {"number": -(2**63), "id": ""}
    while rows := await _ENTRIES.rows(chain=chain, most=_PAGE, **cursor):
        for row in rows:
            yield row
        cursor = {"number": rows[-1]["number"], "id": rows[-1]["id"]}
