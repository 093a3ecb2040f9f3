"""Making, counting and canceling exports."""

from datetime import timedelta
from typing import Final

from leadwire.domain.accounts import quotas
from leadwire.domain.exports import reads
from leadwire.domain.exports.schema import Export, ExportCanceled, Format, Kind, TooManyExports
from leadwire.domain.exports.table import ExportJob
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import columns, insert, named

MOST_OPEN: Final = 20
"""Exports of a workspace that are neither completed nor canceled nor expired."""
LASTS: Final = timedelta(hours=24)

_COUNT, _CANCEL = named(__file__, "count cancel")
_ADD: Final = insert(*columns(ExportJob, "id workspace_id kind format query created_at expires_at"))


async def create(workspace: str, kind: Kind, form: Format, query: str) -> Export:
    """Make an export. Raise TooManyExports."""
    now, job = clock.now(), ids.new("exp")
    async with db.transaction():
        await _ADD.rows(
            id=job, workspace_id=workspace, kind=kind, format=form, query=query, created_at=now, expires_at=now + LASTS
        )
        full = TooManyExports(f"At most {MOST_OPEN} exports are open at a time: complete or cancel one.")
        await quotas.at_most(workspace, MOST_OPEN, full, _COUNT, since=now - LASTS)
        return (await reads.stored(workspace, job)).export


async def cancel(workspace: str, export_id: str) -> Export:
    """End an export, and its downloads with it; to cancel it twice is fine. Raise NotFound."""
    await _CANCEL.rows(workspace=workspace, id=export_id, now=clock.now())
    return (await reads.stored(workspace, export_id)).export


@query(ExportCanceled)
async def note(workspace: str, export_id: str, sent: int, *, ended: bool) -> None:
    """Count rows that were sent. Raise ExportCanceled when it was canceled meanwhile, or expired before its end."""
