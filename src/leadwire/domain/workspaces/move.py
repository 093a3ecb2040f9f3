"""A workspace comes here from another installation, with its ids, keys, secrets, numbers and what is still to be sent.

All rows are copied while it goes on there, in rounds until they get no shorter. Then its endpoints are held until
nothing is being sent, then its changes are refused while the rest is copied, then it is closed for good. That last
commit says whose it is: with the id of the move it has gone, without it is there. The copy has the id from its first
row on, so that whoever comes after a move that was killed can tell what to do: where both have it, the copy is whole,
and is opened. Else it is deleted, and made again.
"""

import asyncio
import contextlib
import math
import time
from collections import Counter
from collections.abc import Awaitable
from typing import Final, NamedTuple

from leadwire.delivery.endpoints import changes as endpoints
from leadwire.domain.accounts.changes import workspaces
from leadwire.domain.workspaces import changes, fence
from leadwire.domain.workspaces.copy import Copy
from leadwire.infrastructure import db, secret_box, settings
from leadwire.infrastructure.db.other import Other, connected
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.errors import Conflict, NotFound, OperatorError, Unavailable
from leadwire.infrastructure.secret_box import SecretBox

_PATIENCE: Final = 90.0  # seconds until deliveries that are being sent have ended: longer than a lease
_SHORT: Final = 2.0  # seconds, for the same while changes are refused
_LOOK: Final = 0.2  # seconds
_TRIES: Final = 5
_STATE, _VERSION, _SENDING = named(__file__, "state version sending")


class Moved(NamedTuple):
    """What was copied, by table, and the seconds for which changes were refused."""

    rows: Counter[str]
    closed: float


async def move(workspace: str, url: str, keys: tuple[str, ...]) -> Moved:
    """Let a workspace come here from the installation with the database at `url`, whose secrets these keys open.

    Raise NotFound; Conflict when it is here already, or somewhere else; Unavailable when a change there does not end;
    OperatorError when the two are not of the same version.
    """
    moved = Moved(Counter(), 0.0)
    async with connected(url) as other:
        try:
            await fence.enter(other, workspace)
        except db.Locked as error:
            raise Conflict(f"{workspace} is being moved by another process.") from error
        async with other.transaction():
            there, version = await _STATE.row(workspace=workspace), await _VERSION.value()
        here = await _STATE.row(workspace=workspace)
        if version != await _VERSION.value():
            raise OperatorError("the two installations have other migrations: bring both to the same version")
        if there is None:
            raise NotFound(f"There is no workspace {workspace}.")
        if there["move_id"] is None:
            if there["ends"]:
                raise Conflict("Its deletion has begun: it cannot be moved.")
            moved = await _come(other, workspace, here, SecretBox(keys))
        elif here is None or here["move_id"] not in (None, there["move_id"]):
            raise Conflict(f"{workspace} has gone to another installation.")
    if moved.rows or (here and here["move_id"]):
        async with db.transaction():
            if not await workspaces.finish_move(workspace):
                await endpoints.hold(workspace, held=False)
    return moved


async def _come(other: Other, workspace: str, here: db.Row | None, theirs: SecretBox) -> Moved:
    if here is not None:
        if here["move_id"] is None:
            raise Conflict(f"There is a workspace {workspace} already.")
        await workspaces.abandon_move(workspace)
        await changes.delete(workspace)
    await fence.build(other, workspace)
    try:
        return await _copy(Copy(other, workspace, theirs, secret_box.get()), other, workspace)
    except BaseException:
        with contextlib.suppress(*db.GONE):
            await _let_go(other, workspace)
        raise


async def _hold(other: Other, workspace: str, patience: float) -> None:
    """Hold its endpoints there, and wait until nothing is being sent. What still is then is sent again from here."""
    async with other.transaction():
        await endpoints.hold(workspace, held=True)
    end = time.monotonic() + patience
    while time.monotonic() < end:
        async with other.transaction():
            if not await _SENDING.value(workspace=workspace):
                return
        await asyncio.sleep(_LOOK)


async def _copy(copy: Copy, other: Other, workspace: str) -> Moved:
    before = math.inf
    while (took := await _seconds(copy.round())) < before / 2:
        before = took
    await _hold(other, workspace, _PATIENCE)
    began = await _close(copy, other, workspace)
    await _hold(other, workspace, _SHORT)  # endpoints that were added meanwhile, too
    await copy.round(last=True)
    async with other.transaction():
        await workspaces.leave(workspace, copy.move_id, settings.get().public_url)
    return Moved(copy.rows, time.monotonic() - began)


async def _close(copy: Copy, other: Other, workspace: str) -> float:
    """Refuse changes there. Return since when. One that does not end in time may go on while we copy some more."""
    for _ in range(_TRIES):
        await copy.round()
        began = time.monotonic()
        with contextlib.suppress(db.Locked):
            await fence.close(other, workspace)
            return began
    raise Unavailable("A change of the workspace does not end. Nothing was moved: try again.")


async def _seconds(work: Awaitable[None]) -> float:
    began = time.monotonic()
    await work
    return time.monotonic() - began


async def _let_go(other: Other, workspace: str) -> None:
    """Let deliveries go on there, unless it has gone."""
    async with other.transaction():
        state = await _STATE.row(workspace=workspace)
        if state and not state["suspended"]:
            await endpoints.hold(workspace, held=False)
