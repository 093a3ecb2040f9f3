"""Jobs are added, claimed, finished. The statements, beside this file, say how."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple

from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import lists, named

LEASE: Final = 60.0
"""Seconds for which a claim holds, unless it is kept: a job whose process died is done by another one after that."""
_LOOKED_AT: Final = 500  # jobs of a kind
_WORKSPACES: Final = 50  # of a walk

_ADD, _OFFER, _CLAIM, _FINISH, _HELD, _KEEP, _DELETE, _BRING = named(
    __file__, "add offer claim finish held keep delete_batch bring_forward"
)


class Claimed(NamedTuple):
    """A job that this process does: whom it is about, where it goes on, how often it has failed, and whether the
    process that did it last has died.
    """

    key: str
    workspace: str
    place: str = ""
    tries: int = 0
    died: bool = False


class Offer(NamedTuple):
    """A job that is to be done, unless it is known; None: now."""

    key: str
    workspace: str
    at: datetime | None = None


class Room(NamedTuple):
    """For how many jobs of a kind there is room; where those begin that live; the last workspace that had a turn; after
    how many tries a job is given up that its process dies of.
    """

    kind: str
    room: int
    floor: datetime
    after: str
    tries: int


class Ahead(NamedTuple):
    """How many seconds ahead a job of a kind may be due: None where it may be any; and where it has failed."""

    kind: str
    ahead: float | None
    failed: float


class Ended(NamedTuple):
    """What came of a job: done where `pause` is None, else it goes on after so many seconds. `counts`: it failed."""

    key: str
    pause: float | None = None
    place: str = ""
    error: str | None = None
    counts: int = 0


async def add(kind: str, key: str, workspace: str = "", at: datetime | None = None) -> None:
    """Let a job be done, soon or at a time; in the open transaction, with its cause."""
    await add_all(kind, [Offer(key, workspace, at)])


async def add_all(kind: str, jobs: Sequence[Offer]) -> None:
    """Let jobs be done. Each key is there once."""
    if jobs:
        await _ADD.rows(kind=kind, **lists("keys workspaces times", jobs))


async def offer(kind: str, jobs: Sequence[Offer]) -> None:
    """Let jobs be done that are not known yet."""
    if jobs:
        await _OFFER.rows(kind=kind, **lists("keys workspaces times", jobs))


@query()
async def waiting(kind: str, most: int) -> int:
    """Return how many jobs are due, of at most so many."""


@query()
async def remove(kind: str, key: str) -> None:
    """Forget a job in the open transaction. It may be under way."""


async def delete_batch(workspace: str, most: int) -> int:
    """Delete at most so many jobs of a workspace. Return how many."""
    return len(await _DELETE.rows(workspace=workspace, most=most))


async def bring_forward(kinds: Sequence[Ahead]) -> None:
    """Let what is due later than it can be, as the clock was put back, be due now; what is being done, when a claim of
    now would end.
    """
    await _BRING.rows(**lists("kinds aheads fails", kinds), lease=LEASE, most=_LOOKED_AT)


async def claim(
    rooms: Sequence[Room], owner: str, suspects: int = 1
) -> tuple[dict[str, list[Claimed]], dict[str, tuple[datetime, str]]]:
    """Take what is due; of jobs whose process has died so many as `suspects`, beyond the room of their kind.

    Return jobs by kind, and of each kind the floor and the workspace for the next claim.
    """
    jobs: dict[str, list[Claimed]] = {}
    marks: dict[str, tuple[datetime, str]] = {}
    limits = {"looked_at": _LOOKED_AT, "workspaces": _WORKSPACES, "lease": LEASE, "owner": owner}
    for row in await _CLAIM.rows(**lists("kinds rooms floors afters tries", rooms), **limits, suspects=suspects):
        kind, key, workspace, place, tries, died, floor = row
        if key is None:
            marks[kind] = floor, workspace
        else:
            jobs.setdefault(kind, []).append(Claimed(key, workspace, place, tries, died))
    return jobs, marks


async def finish(kind: str, ended: Sequence[Ended], owner: str, most: int) -> tuple[list[str], list[str]]:
    """Note what came of jobs. Return the keys of those that were given up, and of those to be asked for once more."""
    rows = await _FINISH.rows(kind=kind, **lists("keys pauses places errors counts", ended), owner=owner, most=most)
    noted = {row["key"] for row in rows}
    left = [job.key for job in ended if job.key not in noted]
    again = [row["key"] for row in await _HELD.rows(kind=kind, keys=left, owner=owner)] if left else []
    return [row["key"] for row in rows if row["failed"]], again


@query()
async def put_off(kind: str, keys: Sequence[str], owner: str, pause: float) -> None:
    """Give back jobs that were claimed and not begun."""


@query()
async def rest(kind: str, keys: Sequence[str], owner: str, pause: float) -> None:
    """Give back jobs of suspended workspaces, which begin anew when these are resumed."""


async def keep(jobs: Sequence[tuple[str, str]], owner: str) -> None:
    """Let nobody else take jobs (kind and key) that are under way."""
    await _KEEP.rows(**lists("kinds keys", jobs), owner=owner, lease=LEASE)
