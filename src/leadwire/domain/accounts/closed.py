"""Why a workspace is closed."""

from typing import Final

from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import DomainError, WorkspaceMoving, WorkspaceSuspended

_MOVE: Final = sql("SELECT move_id, moved_to FROM workspace WHERE id = :workspace")


async def reason(workspace: str, suspended: type[DomainError] = WorkspaceSuspended) -> DomainError:
    """Return the error for a request to a workspace that is closed: it comes here, has gone, or is suspended."""
    move_id, moved_to = await _MOVE.row(workspace=workspace) or (None, None)
    if moved_to is not None:
        return WorkspaceMoving(f"The workspace has moved to {moved_to or 'another installation'}.")
    return WorkspaceMoving() if move_id else suspended()
