"""What each workspace has, and of how much: for whoever runs the installation. Nothing here scans a large table.

Endpoints, bots, people and keys are counted. So are leads, conversations, messages and events, but up to a number only;
beyond it PostgreSQL's statistics are asked, which ANALYZE keeps. Bytes are always an estimate: a workspace's share of a
table, by its rows, indexes included.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from leadwire.domain.accounts import quotas
from leadwire.domain.accounts.schema import Quota, State
from leadwire.infrastructure import clock
from leadwire.infrastructure.db.statements import load
from leadwire.infrastructure.errors import NotFound

COUNTED: Final[tuple[Quota, ...]] = ("endpoints", "bots", "users", "api_keys")
"""The quotas of a whole workspace whose use is shown. The others are of one bot, or cost more to add up."""
_PER_PAGE: Final = 1_000  # rows that are counted of each workspace in a list; of one alone, ten times as many
_NEAR: Final = 0.9
_NEAR_SHOWN: Final = 20

# The tables that a kind's bytes are in, the one that says whose they are first.
_TABLES: Final[dict[str, tuple[str, ...]]] = {
    "leads": ("lead",),
    "conversations": ("conversation",),
    "messages": ("message",),
    "events": ("event", "delivery_result", "attempt"),
}
_NAMES: Final = [table for tables in _TABLES.values() for table in tables]
_SQL: Final = load(__file__)

Known = Literal["exactly", "about", "more than"]


class Used(Struct, frozen=True):
    """How much of a quota is used. `own`: the quota is the workspace's own, not that of the settings."""

    count: int
    most: int
    own: bool

    @property
    def near(self) -> bool:
        """Whether its end is near."""
        return self.count > 0 and self.count >= _NEAR * self.most


class Amount(Struct, frozen=True):
    """Rows, how well their number is known, and an estimate of their bytes. Events include deliveries and attempts."""

    rows: int
    known: Known
    bytes: int

    def __str__(self) -> str:
        return f"{self.rows:,}" if self.known == "exactly" else f"{self.known} {self.rows:,}"


class Usage(Struct, frozen=True):
    """A workspace and what it has."""

    id: str
    name: str
    created_at: str
    state: State
    moved_to: str | None
    """Where it has moved, if the address is known."""
    quotas: dict[Quota, Used]
    amounts: dict[str, Amount]

    @property
    def bytes(self) -> int:
        """About how many bytes it takes."""
        return sum(amount.bytes for amount in self.amounts.values())


class Near(Struct, frozen=True):
    """A quota whose end is near."""

    workspace: str
    name: str
    quota: Quota
    count: int
    most: int


async def page(after: str = "", limit: int = 50) -> tuple[list[Usage], str | None]:
    """Return the workspaces after one, by its id, oldest first; and after which one to read on."""
    usages = await _read(None, after, limit + 1, _PER_PAGE)
    return usages[:limit], usages[limit - 1].id if len(usages) > limit else None


async def one(workspace: str) -> Usage:
    """Return what one workspace has. Raise NotFound."""
    usages = await _read(workspace, "", 1, 10 * _PER_PAGE)
    if not usages:
        raise NotFound(f"There is no workspace {workspace}.")
    return usages[0]


async def near() -> list[Near]:
    """Return the quotas that are nearest to their end, from nine tenths on."""
    defaults = msgspec.json.encode({quota: quotas.default(quota) for quota in COUNTED})
    values = {"now": clock.now(), "share": _NEAR, "limit": _NEAR_SHOWN, "defaults": defaults}
    return [Near(*row) for row in await _SQL["near"].rows(**values)]


async def unfinished() -> list[tuple[str, str]]:
    """Return the ids and names of the workspaces whose deletion has begun and not ended."""
    return [(row["id"], row["name"]) for row in await _SQL["unfinished"].rows()]


async def _read(workspace: str | None, after: str, limit: int, most: int) -> list[Usage]:
    rows = await _SQL["counts"].rows(id=workspace, after=after, limit=limit, most=most, now=clock.now())
    tables = {row["name"]: row for row in await _SQL["tables"].rows(names=_NAMES)}
    many = [row["id"] for row in rows if any(row[kind] > most for kind in _TABLES)]
    common = await _SQL["common"].rows(names=_NAMES, ids=many) if many else []
    estimates = {(row["name"], row["workspace_id"]): row["rows"] for row in common}
    return [_usage(row, most, tables, estimates) for row in rows]


def _usage(row: Any, most: int, tables: Mapping[str, Any], estimates: Mapping[tuple[str, str], float]) -> Usage:
    own = quotas.own_quotas(row["quotas"])
    used = {quota: Used(row[quota], own.get(quota, quotas.default(quota)), quota in own) for quota in COUNTED}
    amounts: dict[str, Amount] = {}
    for kind, parts in _TABLES.items():
        counted = row[kind]
        if kind == "messages":  # added up over the newest conversations: of the others as many each
            of = amounts["conversations"]
            known, rows = of.known, round(counted * max(of.rows / most, 1)) if of.known != "exactly" else counted
        else:
            known, rows = _known(counted, most, estimates.get((parts[0], row["id"])))
        amounts[kind] = Amount(rows, known, _bytes(rows, parts, tables))
    return Usage(row["id"], row["name"], clock.iso(row["created_at"]), row["state"], row["moved_to"], used, amounts)


def _known(counted: int, most: int, estimate: float | None) -> tuple[Known, int]:
    """What is known of a number that was counted up to `most`, and one more."""
    if counted <= most:
        return "exactly", counted
    return ("about", round(estimate)) if estimate is not None and estimate > most else ("more than", most)


def _bytes(rows: int, parts: tuple[str, ...], tables: Mapping[str, Any]) -> int:
    size: int = sum(tables[part]["bytes"] for part in parts if part in tables)
    every: float = tables[parts[0]]["rows"] if parts[0] in tables else 0
    return round(size * rows / max(every, rows, 1))
