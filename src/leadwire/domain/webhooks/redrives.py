"""Redrive jobs as customers and operators order and watch them. The relay does the work (`wire.redrive`)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct

from leadwire.delivery import wakeup
from leadwire.delivery.envelope import KINDS
from leadwire.delivery.redrive.step import DEAD, PAST
from leadwire.delivery.redrive.table import JobState
from leadwire.delivery.states import OUTCOMES
from leadwire.domain.webhooks import reads
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid, NotFound

FASTEST: Final = 1000  # deliveries a second
_COLUMNS: Final = """id, workspace_id, endpoint_id, replay, kinds, outcomes, per_second, state, total, done, created_at,
    updated_at"""


class Selection(Struct, frozen=True, kw_only=True):
    """Which deliveries: the dead letters that match, or with `replay` all events of the time to one endpoint.

    What is None or empty does not restrict. `since` is inclusive, `until` exclusive: the time of the event.
    """

    endpoint_id: str | None = None
    replay: bool = False
    kinds: Sequence[str] = ()
    outcomes: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None


class Redrive(Struct, frozen=True):
    """A job as it stands. `total` is what matched when it was made."""

    id: str
    workspace_id: str
    endpoint_id: str | None
    replay: bool
    kinds: list[str] | None
    outcomes: list[str] | None
    per_second: int
    state: JobState
    total: int
    done: int
    created_at: str
    updated_at: str


async def count(workspace: str, selection: Selection) -> int:
    """How many deliveries a job would send. Raises Invalid, NotFound (no such endpoint)."""
    return await _count(await _parameters(workspace, selection), replay=selection.replay)


async def start(workspace: str, selection: Selection, per_second: int = 100) -> Redrive:
    """Make a job, which begins at once; it has ended when nothing matches. Raises Invalid, NotFound."""
    if not 1 <= per_second <= FASTEST:
        raise _invalid("out_of_range", f"A rate is 1 to {FASTEST} deliveries a second.", "/per_second")
    parameters = await _parameters(workspace, selection)
    total = await _count(parameters, replay=selection.replay)
    job_id, now = ids.new("job"), clock.now()
    await db.rows(
        """INSERT INTO redrive_job (id, workspace_id, first_event, end_event, endpoint_id, kinds, outcomes, replay,
               per_second, state, total, stepped_at, created_at, updated_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $12, $10, now() - interval '1 second', $11, $11)""",
        job_id, *parameters, selection.replay, per_second, total, now, "running" if total else "finished",
    )  # fmt: skip
    wakeup.wake_relay()
    return await one(workspace, job_id)


async def pause(workspace: str | None, job_id: str) -> Redrive:
    """Stop for now. Raises NotFound, Conflict when it does not run."""
    return await _move(workspace, job_id, "running", "paused")


async def resume(workspace: str | None, job_id: str) -> Redrive:
    """Go on where it stopped. Raises NotFound, Conflict when it is not paused."""
    return await _move(workspace, job_id, "paused", "running")


async def cancel(workspace: str | None, job_id: str) -> Redrive:
    """Stop for good; what was put back to wait stays so. Raises NotFound, Conflict when it has ended."""
    return await _move(workspace, job_id, "running paused", "cancelled")


async def one(workspace: str | None, job_id: str) -> Redrive:
    """One job. Raises NotFound."""
    found = await db.row(
        f"SELECT {_COLUMNS} FROM redrive_job WHERE id = $2 AND ($1::text IS NULL OR workspace_id = $1)",
        workspace,
        job_id,
    )
    if found is None:
        raise NotFound(f"There is no redrive {job_id}.")
    return _redrive(found)


async def listed(workspace: str | None, limit: int = 100) -> list[Redrive]:
    """Jobs, newest first."""
    found = await db.rows(
        f"""SELECT {_COLUMNS} FROM redrive_job WHERE $1::text IS NULL OR workspace_id = $1
            ORDER BY created_at DESC, id DESC LIMIT $2""",
        workspace,
        limit,
    )
    return [_redrive(row) for row in found]


async def _move(workspace: str | None, job_id: str, before: str, after: JobState) -> Redrive:
    moved = await db.rows(
        """UPDATE redrive_job SET state = $4, stepped_at = now(), updated_at = now()
           WHERE id = $2 AND ($1::text IS NULL OR workspace_id = $1) AND state = ANY($3) RETURNING 1""",
        workspace, job_id, before.split(), after,
    )  # fmt: skip
    job = await one(workspace, job_id)
    if not moved:
        raise Conflict(f"The redrive is {job.state}.", code="wrong_state")
    return job


async def _parameters(workspace: str, selection: Selection) -> tuple[Any, ...]:
    """What `DEAD` and `PAST` take."""
    if selection.endpoint_id:
        await reads.endpoint(workspace, selection.endpoint_id)
    elif selection.replay:
        raise _invalid("required", "A replay goes to one endpoint: say which.", "/endpoint_id")
    if selection.replay and selection.outcomes:
        raise _invalid("not_together", "A replay sends every event, whatever came of it.", "/outcomes")
    for field, given, known in (("kinds", selection.kinds, KINDS), ("outcomes", selection.outcomes, OUTCOMES)):
        if unknown := [name for name in given if name not in known]:
            raise _invalid("unknown", f"No such: {', '.join(unknown)}. There are: {', '.join(known)}.", f"/{field}")
    return (
        workspace,
        ids.floor("evt", selection.since) if selection.since else "evt_",
        ids.floor("evt", selection.until or clock.now() + timedelta(days=1)),
        selection.endpoint_id,
        list(selection.kinds) or None,
        list(selection.outcomes) or None,
    )


async def _count(parameters: tuple[Any, ...], *, replay: bool) -> int:
    return await db.value(f"SELECT count(*) {PAST if replay else DEAD}", *parameters)  # type: ignore[no-any-return]


def _invalid(code: str, message: str, pointer: str) -> Invalid:
    return Invalid(message, faults=(FieldError(code, message, pointer),))


def _redrive(row: Any) -> Redrive:
    *plain, created_at, updated_at = row
    return Redrive(*plain, clock.iso(created_at), clock.iso(updated_at))  # type: ignore[call-arg]  # mypy counts `*` as many
