"""Changes of many leads, looked up. Every query takes the workspace first. Rows are for templates."""

from leadwire.infrastructure import db
from leadwire.infrastructure.db.queries import query


@query()
async def running(workspace: str) -> list[db.Row]:
    """Return the newest five that are still under way."""


@query("There is no such change.")
async def one(workspace: str, bulk_id: str) -> db.Row:
    """Return a change of many leads. Raise NotFound."""
