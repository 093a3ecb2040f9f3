"""Views and changes of many leads, looked up. Every query takes the workspace first. Rows are for templates."""

from typing import Final

from leadwire.domain.worklists.table import BulkChange, LeadView
from leadwire.infrastructure import db
from leadwire.infrastructure.db.statements import param, sql, statement
from leadwire.infrastructure.errors import NotFound

# The views that a person has: their own, those of everybody, and the columns they see without one (no name).
_VIEWS: Final = sql("""
SELECT id, user_id, name, query, columns FROM lead_view
WHERE workspace_id = :workspace AND (user_id = :user_id OR user_id IS NULL) ORDER BY lower(name), id""")
_BULK: Final = statement(
    BulkChange.select(*BulkChange.all_columns()).where(
        BulkChange.workspace_id == param("workspace"), BulkChange.id == param("id")
    )
)
# Those that still run.
_RUNNING: Final = sql("""
SELECT id, kind, done, user_id FROM bulk_change WHERE workspace_id = :workspace AND state = 'running'
ORDER BY created_at DESC LIMIT 5""")
running = _RUNNING.rows
VIEW: Final = statement(
    LeadView.select("id", "user_id", "name").where(
        LeadView.workspace_id == param("workspace"), LeadView.id == param("id")
    )
)


async def views(workspace: str, user_id: str) -> tuple[list[db.Row], list[str]]:
    """Return the views that a person has, by name, and the columns they see without one."""
    found = await _VIEWS.rows(workspace=workspace, user_id=user_id)
    return [one for one in found if one["name"]], next((one["columns"] for one in found if not one["name"]), [])


async def bulk(workspace: str, bulk_id: str) -> db.Row:
    """Return a change of many leads. Raise NotFound."""
    return await _BULK.one(NotFound("There is no such change."), workspace=workspace, id=bulk_id)
