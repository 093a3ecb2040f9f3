"""The fence of a workspace that moves away: triggers that refuse its changes, for as long as the move holds a lock.

They wait for nobody, so that others whose changes are gathered with one of it go on. What the relay and workers write
is not refused: while its endpoints are held they only put back what they have.
"""

from collections.abc import Sequence

from piccolo.table import Table

from leadwire.infrastructure import db
from leadwire.infrastructure.db import declared, steps
from leadwire.infrastructure.db.declared import declaration, derived
from leadwire.infrastructure.db.other import Other
from leadwire.infrastructure.db.statements import named

_MISSING, _PRESENT, _PATIENCE, _ALONE, _CLOSE = named(__file__, "missing present patience alone close")


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
