"""Reading the audit log: newest first, by key, of one person or one kind of action."""

from typing import Annotated, Final

from msgspec import Meta, Struct

from leadwire.domain.listing.keyset import Keyset
from leadwire.infrastructure import clock, db

_LOG: Final = Keyset(table="audit_entry", columns="id, at, actor, action, subject, detail, address", key={"id": "text"})
# Each value is found by one step through an index: a DISTINCT would read the whole log.
_DIFFERENT: Final = """
WITH RECURSIVE found AS (
    (SELECT {0} AS value FROM audit_entry WHERE workspace_id = $1 ORDER BY {0} LIMIT 1)
    UNION ALL
    SELECT (SELECT {0} FROM audit_entry WHERE workspace_id = $1 AND {0} > found.value ORDER BY {0} LIMIT 1)
    FROM found WHERE found.value IS NOT NULL
) SELECT value FROM found WHERE value IS NOT NULL"""


class LogQuery(Struct, frozen=True, kw_only=True):
    """Which entries."""

    actor: Annotated[str, Meta(max_length=320)] = ""
    action: Annotated[str, Meta(max_length=100)] = ""
    after: Annotated[str, Meta(max_length=100)] = ""


class Noted(Struct, frozen=True):
    """One entry: who did what to which object, from where."""

    id: str
    at: str
    actor: str
    action: str
    subject: str
    detail: str
    address: str


async def page(workspace: str, query: LogQuery, limit: int = 50) -> tuple[list[Noted], str | None]:
    """One page, and what leads to the next. Raises InvalidParameter for a strange `after`."""
    conditions = {"actor = {}": query.actor, "action = {}": query.action}
    found = await _LOG.page(workspace, {sql: value for sql, value in conditions.items() if value}, query.after, limit)
    return [Noted(entry_id, clock.iso(at), *rest) for entry_id, at, *rest in found.rows], found.after


async def actors(workspace: str) -> list[str]:
    """Everybody who has ever done something."""
    return [row["value"] for row in await db.rows(_DIFFERENT.format("actor"), workspace)]


async def actions(workspace: str) -> list[str]:
    """Everything that has ever been done."""
    return [row["value"] for row in await db.rows(_DIFFERENT.format("action"), workspace)]
