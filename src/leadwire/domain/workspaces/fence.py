"""The fence of a workspace that moves away: triggers that refuse its changes, for as long as the move holds a lock.

They wait for nobody, so that others whose changes are gathered with one of it go on. What the relay and workers write
is not refused: while its endpoints are held they only put back what they have.
"""

from collections.abc import Sequence
from typing import Final

from piccolo.table import Table

from leadwire.infrastructure import db
from leadwire.infrastructure.db import declared, steps
from leadwire.infrastructure.db.declared import declaration, derived
from leadwire.infrastructure.db.other import Other
from leadwire.infrastructure.db.statements import sql

# The statement of each trigger that is missing; of each that is there.
_MISSING: Final = sql("""
SELECT format('CREATE TRIGGER %I BEFORE INSERT OR UPDATE ON %s FOR EACH ROW WHEN (NEW.workspace_id = %L)'
    ' EXECUTE FUNCTION refuse_while_moving(%L)', 'move of ' || :workspace, c.oid::regclass, :workspace, :workspace)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'workspace_id'
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND pg_table_is_visible(c.oid) AND c.relname <> ALL(:open)
    AND NOT EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname = 'move of ' || :workspace)
ORDER BY c.relname""")
_PRESENT: Final = sql("""
SELECT format('DROP TRIGGER IF EXISTS %I ON %s', tgname, tgrelid::regclass) FROM pg_trigger
WHERE tgname = 'move of ' || :workspace AND tgparentid = 0""")
_PATIENCE: Final = sql("SELECT set_config('lock_timeout', '2s', true)")
# Of the session. The first says who moves, the second waits for changes that have begun, and refuses those that come.
_ALONE: Final = sql("SELECT pg_advisory_lock(7227, hashtext(:workspace))")
_CLOSE: Final = sql("SELECT pg_advisory_lock(7226, hashtext(:workspace))")


@derived
def _open(tables: Sequence[type[Table]]) -> list[str]:
    return [declared.name(table) for table in tables if not declaration(table).fenced]


async def enter(other: Other, workspace: str) -> None:
    """Let nobody else move this workspace while the connection lasts. Raise db.Locked."""
    async with other.transaction():
        await _PATIENCE.rows()
        await _ALONE.rows(workspace=workspace)


async def build(other: Other, workspace: str) -> None:
    """Add what is missing of the fence in another installation. It is open. Raise OperatorError."""
    async with other.transaction():
        missing = await _MISSING.rows(workspace=workspace, open=_open())
    for (statement,) in missing:
        await steps.alone(statement, other.transaction)


async def close(other: Other, workspace: str) -> None:
    """Refuse changes while the connection lasts. Raise db.Locked where one that has begun does not end."""
    async with other.transaction():
        await _PATIENCE.rows()
        await _CLOSE.rows(workspace=workspace)


async def remove(workspace: str) -> None:
    """Remove the fence of a workspace here, if there is one. Raise OperatorError."""
    for (statement,) in await _PRESENT.rows(workspace=workspace):
        await steps.alone(statement, db.transaction)
