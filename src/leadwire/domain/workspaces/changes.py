"""Make, suspend, resume and delete workspaces. Each package deletes from its own tables, a batch at a time."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from leadwire.delivery import erase, redrive
from leadwire.delivery.endpoints import changes as endpoints
from leadwire.delivery.endpoints import due
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts import reads as accounts_reads
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.changes import team, workspaces
from leadwire.domain.bots import changes as bots
from leadwire.domain.conversations.changes import erasing as conversations
from leadwire.domain.leads import changes as leads
from leadwire.domain.mail import changes as mail
from leadwire.domain.search import changes as search
from leadwire.domain.workspaces import fence
from leadwire.infrastructure import db, idempotency_store, jobs
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import Invalid, Unavailable

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
    if not 0 < len(name) <= _LONGEST_NAME or not name.isprintable():
        raise Invalid(f"A workspace needs a name of at most {_LONGEST_NAME} characters.")
    async with db.transaction():
        workspace = await accounts.create_workspace(name)
        await audit.record(workspace, "operator", audit.Entry("workspace.created", workspace, name))
        return workspace, await team.invite(workspace, email, "admin")


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
            await _finish(workspace)
        except (db.Orphaned, db.Locked, db.Deadlock):  # by a request that had begun before
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


async def _finish(workspace: str) -> None:
    async with db.transaction():
        await due.PATIENCE.rows()
        await workspaces.finish_deletion(workspace)


async def _delete_rows(workspace: str) -> None:
    """Those that others refer to come later. Once conversations and leads are gone, no more events are recorded."""
    await redrive.delete_jobs(workspace)
    batches: tuple[Batch, ...] = (
        _delete_responses, endpoints.delete_batch, conversations.delete_batch, leads.delete_batch, bots.delete_batch,
        erase.delete_events, mail.delete_batch,
        search.delete_batch, workspaces.delete_log_batch, jobs.delete_batch,
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


async def _delete_responses(workspace: str, most: int) -> int:
    keys = [key.id for key in await accounts_reads.listed(workspace)]
    return await idempotency_store.delete_batch(keys, most)
