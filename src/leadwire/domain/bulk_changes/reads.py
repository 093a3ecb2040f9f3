"""Changes of many leads, looked up. Every query takes the workspace first. Rows are for templates."""

from typing import Final

from leadwire.domain.bulk_changes.table import BulkChange
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import param, sql, statement
from leadwire.infrastructure.errors import NotFound

_BULK: Final = statement(
    BulkChange.select(*BulkChange.all_columns()).where(
        BulkChange.workspace_id == param("workspace"), BulkChange.id == param("id")
    )
)
_RUNNING: Final = sql("""
SELECT id, kind, done, user_id FROM bulk_change WHERE workspace_id = :workspace AND state = 'running'
ORDER BY created_at DESC, id DESC LIMIT 5""")


async def running(workspace: str) -> list[db.Row]:
    """Return the newest five that are still under way."""
    return await _RUNNING.rows(workspace=workspace)


async def one(workspace: str, bulk_id: str) -> db.Row:
    """Return a change of many leads. Raise NotFound."""
    return await _BULK.one(NotFound("There is no such change."), workspace=workspace, id=bulk_id)
