"""Workspaces: suspended, resumed, given quotas of their own, deleted. Each change is in the workspace's audit log.

A deletion is in the log of the installation instead: the workspace's own goes with it.
"""

from collections.abc import Sequence
from typing import Final

from leadwire.domain.accounts import networks as allow_lists
from leadwire.domain.accounts import quotas, reads
from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.schema import Quota
from leadwire.domain.accounts.table import Workspace
from leadwire.infrastructure import clock, db, preconditions
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound, invalid_field

_BEGIN_DELETION, _BEGIN_IMPORT, _FINISH_MOVE, _LEAVE = named(__file__, "begin_deletion begin_import finish_move leave")
_MOVING: Final = "It is on its way from another installation, or has gone to one: see `leadwire workspaces move`."


async def set_suspended(workspace: str, *, suspended: bool) -> bool:
    """Suspend a workspace, or resume it. Return False when it is so already.

    Raise NotFound; Conflict to resume one that is being deleted.
    """
    async with db.transaction():
        row = await reads.locked(workspace)
        if row["move_id"]:
            raise Conflict(_MOVING)
        if row["deletion_began_at"] and not suspended:
            raise Conflict("Its deletion has begun: it cannot be resumed.")
        if bool(row["suspended_at"]) == suspended:
            return False
        at = clock.now() if suspended else None
        await Workspace.update({Workspace.suspended_at: at}).where(Workspace.id == workspace)
        action = "workspace.suspended" if suspended else "workspace.resumed"
        await audit.record(workspace, "operator", audit.Entry(action, workspace))
    return True


async def set_quota(workspace: str, quota: Quota, most: int | None) -> None:
    """Give a workspace a quota of its own, or (None) that of the settings again. Raise NotFound, Invalid."""
    least = 1 if quota == "requests" else 0
    if most is not None and not least <= most <= 2**31 - 1:
        raise Invalid(f"A quota of {quota} is a number from {least} to 2,147,483,647.")
    async with db.transaction():
        own = quotas.own_quotas((await reads.locked(workspace))["quotas"])
        before = own.pop(quota, quotas.default(quota))
        if most is not None:
            own[quota] = most
        await Workspace.update({Workspace.quotas: own}).where(Workspace.id == workspace)
        detail = f"{quota}: {before} -> {quotas.default(quota) if most is None else most}"
        await audit.record(workspace, "operator", audit.Entry("workspace.quota_changed", workspace, detail))


async def networks(workspace: str) -> list[str]:
    """Return the networks from which the web area may be used; none: from anywhere. Raise NotFound."""
    row = await Workspace.select(Workspace.networks).where(Workspace.id == workspace).first()
    if row is None:
        raise NotFound(f"There is no workspace {workspace}.")
    return list(row["networks"])


async def set_networks(workspace: str, networks: Sequence[str], present: str, saw: str = "") -> list[str]:
    """Let people use the web area from these networks alone; from anywhere when there are none. Return them.

    Whoever does it is at the address `present`, which must be among them. Raise Invalid; Conflict when there are others
    now than they `saw` (`preconditions.digest`).
    """
    allowed = allow_lists.checked(networks)
    if not allow_lists.allow(present, allowed):
        message = f"Your own address, {present}, is not among these: you would lock yourself out."
        raise invalid_field("/networks", "locked_out", message)
    async with db.transaction():
        preconditions.check(saw, (await reads.locked(workspace))["networks"])
        await Workspace.update({Workspace.networks: allowed}).where(Workspace.id == workspace)
    return allowed


async def clear_networks(workspace: str) -> None:
    """Let people use the web area from anywhere: for whoever has locked themselves out. Raise NotFound."""
    async with db.transaction():
        before = (await reads.locked(workspace))["networks"]
        await Workspace.update({Workspace.networks: []}).where(Workspace.id == workspace)
        detail = f"networks: {' '.join(before) or 'any'} -> any"
        await audit.record(workspace, "operator", audit.Entry("workspace.networks_changed", workspace, detail))


async def begin_deletion(workspace: str) -> None:
    """Suspend a workspace for good, and end its import. Raise NotFound; Conflict for one that comes here."""
    async with db.transaction():
        row = await reads.locked(workspace)
        if row["move_id"] and not row["deletion_began_at"]:
            raise Conflict(_MOVING)
        await _BEGIN_DELETION.rows(workspace=workspace, at=clock.now())
        if not row["deletion_began_at"]:
            await audit.record(None, "operator", audit.Entry("workspace.deletion_began", workspace, row["name"]))


async def begin_import(workspace: str) -> None:
    """Close a workspace that was added in the open transaction, until `finish_import`: as if its deletion had begun.

    Raise Conflict for one that was there before, unless its import has begun.
    """
    began, new = await _BEGIN_IMPORT.one(Conflict(f"There is a workspace {workspace} already."), workspace=workspace)
    if new:
        await audit.record(workspace, "operator", audit.Entry("workspace.import_began", workspace, began))


async def go_on_importing(workspace: str) -> None:
    """See that the import still goes on, and hold it until the open transaction ends. Raise Conflict."""
    refusal = Conflict(f"{workspace} was imported by another process, or deleted meanwhile.")
    await _BEGIN_IMPORT.one(refusal, workspace=workspace)


async def finish_import(workspace: str) -> None:
    """Open a workspace that was imported. Raise Conflict."""
    async with db.transaction():
        await go_on_importing(workspace)
        await Workspace.update({Workspace.suspended_at: None, Workspace.deletion_began_at: None}).where(
            Workspace.id == workspace
        )
        await audit.record(workspace, "operator", audit.Entry("workspace.imported", workspace))


@query()
async def begin_move(workspace: str, move_id: str) -> None:
    """Close a workspace that was added in the open transaction, until `finish_move`."""


@query()
async def abandon_move(workspace: str) -> None:
    """Let a workspace be deleted that has not come here whole, or that had gone and is to come back."""


async def finish_move(workspace: str) -> bool:
    """Open a workspace that has come here. Return whether it was suspended before, and so still is."""
    suspended = bool(await _FINISH_MOVE.value(workspace=workspace))
    await audit.record(workspace, "operator", audit.Entry("workspace.moved_here", workspace))
    return suspended


async def leave(workspace: str, move_id: str, address: str) -> None:
    """Close a workspace that has gone to the installation with this address, which may be empty. All that is left is to
    delete what is here.

    Raise Conflict where its deletion has begun meanwhile.
    """
    began = Conflict("Its deletion has begun: it cannot be moved.")
    async with db.transaction():
        row = await _LEAVE.one(began, workspace=workspace, move_id=move_id, address=address)
        await audit.record(None, "operator", audit.Entry("workspace.moved_away", workspace, row["name"]))


async def finish_deletion(workspace: str) -> None:
    """Delete the row of a workspace, of which there is nothing else any more. Raise NotFound."""
    async with db.transaction():
        name = (await reads.locked(workspace))["name"]
        await Workspace.delete().where(Workspace.id == workspace)
        await audit.record(None, "operator", audit.Entry("workspace.deleted", workspace, name))
