"""Making, counting and canceling exports."""

from datetime import timedelta
from typing import Final

from leadwire.domain.accounts import quotas
from leadwire.domain.exports import reads
from leadwire.domain.exports.schema import Export, ExportCanceled, Format, Kind, TooManyExports
from leadwire.domain.exports.table import ExportJob
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.db.statements import columns, insert, param, sql, statement

MOST_OPEN: Final = 20
"""Exports of a workspace that are neither completed nor canceled nor expired."""
LASTS: Final = timedelta(hours=24)

_COUNT: Final = sql("""
SELECT count(*) FROM export_job WHERE workspace_id = :workspace AND created_at > :since
    AND completed_at IS NULL AND canceled_at IS NULL""")
_ADD: Final = insert(*columns(ExportJob, "id workspace_id kind format query created_at expires_at"))
_OF_ONE: Final = (ExportJob.workspace_id == param("workspace"), ExportJob.id == param("id"))
_CANCEL: Final = statement(ExportJob.update(canceled_at=param("now")).where(*_OF_ONE, ExportJob.canceled_at.is_null()))
# Count rows that were sent, unless the export was canceled.
_NOTE: Final = sql("""
UPDATE export_job SET sent = sent + :sent, completed_at = CASE WHEN :ended THEN :now::timestamptz ELSE completed_at END
WHERE workspace_id = :workspace AND id = :id AND canceled_at IS NULL RETURNING 1""")


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
    await reads.stored(workspace, export_id)
    await _CANCEL.rows(workspace=workspace, id=export_id, now=clock.now())
    return (await reads.stored(workspace, export_id)).export


async def note(workspace: str, export_id: str, sent: int, *, ended: bool) -> None:
    """Count rows that were sent. Raise ExportCanceled when it was canceled meanwhile."""
    await _NOTE.one(ExportCanceled(), workspace=workspace, id=export_id, sent=sent, ended=ended, now=clock.now())
