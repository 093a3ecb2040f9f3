"""Make, suspend, resume and delete workspaces. What belongs to them is deleted a batch at a time."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from piccolo.table import Table

from leadwire.delivery import erase
from leadwire.delivery.endpoints import changes as endpoints
from leadwire.delivery.endpoints import due
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.changes import team, workspaces
from leadwire.domain.search import changes as search
from leadwire.domain.workspaces import fence
from leadwire.infrastructure import db, jobs
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.db.declared import derived
from leadwire.infrastructure.db.statements import Statement, sql
from leadwire.infrastructure.errors import Invalid, Unavailable
from leadwire.infrastructure.unseen import is_name

Batch = Callable[[str, int], Awaitable[int]]
"""Deletes at most so many rows of a workspace. Returns how many."""

BATCH: Final = 500  # rows that a transaction deletes, besides those that hang on them
_LONGEST_NAME: Final = 200
_TRIES: Final = 10
_LOOK: Final = 1.0  # seconds, while workers are sending, or somebody has a row or adds one
# For a workspace with few rows in a large table, whatever the planner thinks of the average.
_INDEXES_ONLY: Final = sql("SELECT set_config('enable_seqscan', 'off', true)")


async def create(name: str, email: str | None = None) -> tuple[str, str]:
    """Add a workspace. Return its id and the token of its first admin's one-time link. Raise Invalid."""
    name = name.strip()
    if not is_name(name, _LONGEST_NAME):
        raise Invalid(f"A workspace needs a name of at most {_LONGEST_NAME} characters.")
    async with db.transaction():
        workspace = await accounts.create_workspace(name)
        await audit.record(workspace, "operator", audit.Entry("workspace.created", workspace, name))
        return workspace, await team.invite(workspace, email, "admin")


class _Late(Exception):
    """Events were recorded while the last rows were deleted."""


async def suspend(workspace: str) -> bool:
    """Close a workspace to everybody; its deliveries wait. Return False when it is closed already. Raise NotFound."""
    async with db.transaction():
        # The workspace first: an endpoint that is being added is refused, or is here by now.
        changed = await workspaces.set_suspended(workspace, suspended=True)
        await endpoints.hold(workspace, held=True)
        return changed


async def resume(workspace: str) -> bool:
    """Undo `suspend`: what waits is sent. Return False when it was not suspended. Raise NotFound, Conflict."""
    async with db.transaction():
        changed = await workspaces.set_suspended(workspace, suspended=False)
        await endpoints.hold(workspace, held=False)
        return changed


async def delete(workspace: str) -> None:
    """Delete a workspace with everything that belongs to it. Begins with suspending it for good.

    Requests and jobs take the workspace's row last. Here it is taken before the rows that go with it, so that none is
    added: where one of those is held, this lets go of all, and begins again.

    Whatever ends this, it can be called again, and goes on. Raise NotFound; Unavailable when others go on adding rows,
    or hold some.
    """
    for _ in range(_TRIES):
        try:
            await _begin(workspace)
            await _delete_rows(workspace)
            async with db.transaction():
                await due.PATIENCE.rows()
                await workspaces.finish_deletion(workspace)
                if await erase.has_events(workspace):  # recorded by a job that this has waited for
                    raise _Late
        except (_Late, db.Orphaned, db.Locked, db.Deadlock):  # by whoever had begun before
            await asyncio.sleep(_LOOK)
            continue
        return
    raise Unavailable("Rows are still being added to the workspace, or are held. Try again.")


async def _begin(workspace: str) -> None:
    async with db.transaction():
        await due.PATIENCE.rows()
        await workspaces.begin_deletion(workspace)
        await endpoints.hold(workspace, held=True)
    await fence.remove(workspace)


async def _delete_rows(workspace: str) -> None:
    """Those that others refer to come later. Once conversations and leads are gone, only jobs that had begun before
    record events, such as notices.
    """
    alone = [partial(_delete_some, statement) for statement in _alone()]
    batches: tuple[Batch, ...] = (
        endpoints.delete_batch, *alone, erase.delete_events, search.delete_batch, jobs.delete_batch
    )  # fmt: skip
    for delete_batch in batches:
        while await _in_transaction(delete_batch, workspace):
            pass
    while await erase.has_events(workspace):  # of which some are being sent, for as long as a lease at most
        await asyncio.sleep(_LOOK)
        await _in_transaction(erase.delete_events, workspace)


async def _in_transaction(delete_batch: Batch, workspace: str) -> int:
    async with db.transaction():
        await _INDEXES_ONLY.rows()
        return await delete_batch(workspace, BATCH)


@derived
def _alone(tables: Sequence[type[Table]]) -> list[Statement]:
    """What deletes rows that the database does not delete with what they belong to, nor a function of their package."""
    return [declared.delete_some(table) for table in reversed(tables) if declared.alone(table)]


async def _delete_some(statement: Statement, workspace: str, most: int) -> int:
    return len(await statement.rows(workspace=workspace, most=most))
