"""Redrives as customers and operators start and watch them. The relay does the work (`delivery.redrive`)."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from leadwire.delivery import push
from leadwire.delivery.envelope import KINDS
from leadwire.delivery.redrive import changes as rows
from leadwire.delivery.redrive.changes import Criteria
from leadwire.delivery.redrive.table import JobState, RedriveJob
from leadwire.delivery.states import OUTCOMES
from leadwire.domain.webhooks import reads
from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.db.statements import columns, if_given, param, statement
from leadwire.infrastructure.errors import Conflict, FieldError, Invalid, NotFound

FASTEST: Final = 1000  # deliveries a second
_COLUMNS: Final = columns(
    RedriveJob,
    "id workspace_id endpoint_id replay kinds outcomes per_second state total done created_at updated_at",
)
_OF_WORKSPACE: Final = if_given(RedriveJob.workspace_id, "workspace")
_ONE: Final = statement(RedriveJob.select(*_COLUMNS).where(RedriveJob.id == param("id"), _OF_WORKSPACE))
_LATEST: Final = statement(
    RedriveJob.select(*_COLUMNS).where(_OF_WORKSPACE).order_by("created_at", "id", ascending=False), "LIMIT :limit"
)


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
    """Return how many deliveries a job would send. Raise Invalid, NotFound (no such endpoint)."""
    return await rows.count(await _criteria(workspace, selection), replay=selection.replay)


async def start(workspace: str, selection: Selection, per_second: int = 100) -> Redrive:
    """Make a job, which begins at once; it has ended when nothing matches. Raise Invalid, NotFound."""
    if not 1 <= per_second <= FASTEST:
        raise _invalid("out_of_range", f"A rate is 1 to {FASTEST} deliveries a second.", "/per_second")
    criteria = await _criteria(workspace, selection)
    total = await rows.count(criteria, replay=selection.replay)
    job_id = await rows.create(criteria, per_second, total, replay=selection.replay)
    push.wake_relay()
    return await one(workspace, job_id)


async def redrive_event(workspace: str | None, event_id: str, endpoint_id: str | None = None) -> int:
    """Send the dead letters of one event again, as if for the first time. Return how many there were.

    Raise NotFound when the event has no deliveries.
    """
    count = await rows.redrive_event(workspace, event_id, endpoint_id)
    if not count:
        await reads.deliveries_of(workspace, event_id, endpoint_id)
    push.wake_relay()
    return count


async def redrive_numbers(workspace: str | None, endpoint_id: str, first: int, last: int) -> int:
    """Send what has these numbers to a numbered endpoint again, delivered or dead. Return how many deliveries.

    Raise NotFound when there is no such endpoint or number, Invalid.
    """
    await reads.events_of_numbers(workspace, endpoint_id, first, last)
    count = await rows.redrive_numbers(endpoint_id, first, last)
    push.wake_relay()
    return count


async def pause(workspace: str | None, job_id: str) -> Redrive:
    """Stop for now. Raise NotFound, Conflict when it does not run."""
    return await _move(workspace, job_id, ["running"], "paused")


async def resume(workspace: str | None, job_id: str) -> Redrive:
    """Go on where it stopped. Raise NotFound, Conflict when it is not paused."""
    return await _move(workspace, job_id, ["paused"], "running")


async def cancel(workspace: str | None, job_id: str) -> Redrive:
    """Stop for good; what was put back to wait stays so. Raise NotFound, Conflict when it has ended."""
    return await _move(workspace, job_id, ["running", "paused"], "cancelled")


async def one(workspace: str | None, job_id: str) -> Redrive:
    """Return one job. Raise NotFound."""
    missing = NotFound(f"There is no redrive {job_id}.")
    return Redrive(*clock.texts(await _ONE.one(missing, workspace=workspace, id=job_id)))


async def listed(workspace: str | None, limit: int = 100) -> list[Redrive]:
    """Return jobs, newest first."""
    return [Redrive(*clock.texts(row)) for row in await _LATEST.rows(workspace=workspace, limit=limit)]


async def _move(workspace: str | None, job_id: str, before: Sequence[JobState], after: JobState) -> Redrive:
    moved = await rows.move(workspace, job_id, before, after)
    job = await one(workspace, job_id)
    if not moved:
        raise Conflict(f"The redrive is {job.state}.", code="wrong_state")
    return job


async def _criteria(workspace: str, selection: Selection) -> Criteria:
    if selection.endpoint_id:
        await reads.endpoint(workspace, selection.endpoint_id)
    elif selection.replay:
        raise _invalid("required", "A replay goes to one endpoint: say which.", "/endpoint_id")
    if selection.replay and selection.outcomes:
        raise _invalid("not_together", "A replay sends every event, whatever came of it.", "/outcomes")
    for field, given, known in (("kinds", selection.kinds, KINDS), ("outcomes", selection.outcomes, OUTCOMES)):
        if unknown := [name for name in given if name not in known]:
            raise _invalid("unknown", f"No such: {', '.join(unknown)}. There are: {', '.join(known)}.", f"/{field}")
    return Criteria(
        workspace,
        ids.floor("evt", selection.since) if selection.since else "evt_",
        ids.floor("evt", selection.until or clock.now() + timedelta(days=1)),
        selection.endpoint_id,
        list(selection.kinds) or None,
        list(selection.outcomes) or None,
    )


def _invalid(code: str, message: str, pointer: str) -> Invalid:
    return Invalid(message, errors=(FieldError(code, message, pointer),))
