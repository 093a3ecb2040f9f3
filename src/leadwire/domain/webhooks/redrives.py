"""Redrives as customers and operators start and watch them. A job does the work (`delivery.redrive_job`)."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from leadwire.delivery import redrive_job as rows
from leadwire.delivery.envelope import EVERY_KIND
from leadwire.delivery.redrive_job import Criteria, JobState
from leadwire.delivery.states import OUTCOMES
from leadwire.domain.webhooks import reads
from leadwire.domain.webhooks.history import Filter
from leadwire.infrastructure import clock, ids
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound, invalid_field

FASTEST: Final = 1000  # deliveries a second
_STEPS: Final[dict[str, tuple[list[JobState], JobState]]] = {
    "pause": (["running"], "paused"),
    "resume": (["paused"], "running"),
    "cancel": (["running", "paused"], "cancelled"),
}


class Selection(Struct, frozen=True, kw_only=True):
    """Which deliveries: the dead letters that match, or with `replay` to one endpoint whatever came of them, and what
    it could have had.

    What is None or empty does not restrict. `event_id`: of one event; `numbers`: a replay of those from the first to
    the last. `since` is inclusive, `until` exclusive: the time of the event.
    """

    endpoint_id: str | None = None
    event_id: str | None = None
    numbers: tuple[int, int] | None = None
    replay: bool = False
    kinds: Sequence[str] = ()
    outcomes: Sequence[str] = ()
    since: datetime | None = None
    until: datetime | None = None


def dead_letters(wanted: Filter) -> Selection:
    """Return the dead letters of a list of deliveries."""
    kinds, outcomes = ([value] if value else [] for value in (wanted.kind, wanted.outcome))
    endpoint_id = wanted.endpoint_id or None
    return Selection(endpoint_id=endpoint_id, kinds=kinds, outcomes=outcomes, since=wanted.since, until=wanted.until)


class Redrive(Struct, frozen=True):
    """A job as it stands. `total` is what matched when it was made. `died_since`: nobody has started it, and it sends
    what died since then.
    """

    id: str
    workspace_id: str
    endpoint_id: str | None
    replay: bool
    kinds: list[str] | None
    outcomes: list[str] | None
    first_event: str
    end_event: str
    first_number: int | None
    last_number: int | None
    per_second: int
    state: JobState
    total: int
    done: int
    died_since: str | None
    created_at: str
    updated_at: str

    @property
    def event_id(self) -> str | None:
        """The only event that is sent, if it is one."""
        return self.first_event if self.end_event == rows.after(self.first_event) else None


async def count(workspace: str, selection: Selection) -> int:
    """Return how many deliveries a job would send. Raise Invalid, NotFound (no such endpoint or number)."""
    return await rows.count(await _criteria(workspace, selection))


async def start(workspace: str, selection: Selection, per_second: int = 100) -> Redrive:
    """Make a job, which begins at once; it has ended when nothing matches.

    Raise Invalid; NotFound when there is no such endpoint, number or event; Conflict when the one delivery that is
    asked for cannot be sent again.
    """
    if not 1 <= per_second <= FASTEST:
        raise invalid_field("/per_second", "out_of_range", f"A rate is 1 to {FASTEST} deliveries a second.")
    if selection.event_id:
        await _check_event(workspace, selection)
    job = await one(workspace, await rows.create(await _criteria(workspace, selection), per_second))
    if selection.event_id and not job.total:
        await reads.deliveries_of(workspace, selection.event_id, selection.endpoint_id)
    return job


async def _check_event(workspace: str, selection: Selection) -> None:
    with suppress(NotFound):  # it may be one that the endpoint has never had
        for delivery in await reads.deliveries_of(workspace, selection.event_id or "", selection.endpoint_id):
            if delivery.test:
                raise Conflict("A test is sent once. Send another on the endpoint's page.", code="wrong_state")
            if selection.replay and delivery.finished_at is None:
                raise Conflict("It is on its way already.", code="wrong_state")
            if selection.replay and not (delivery.url and delivery.body):
                raise Conflict("It cannot be sent again: its endpoint or its content was removed.", code="wrong_state")


async def retry_now(workspace: str, event_id: str, endpoint_id: str) -> None:
    """Make the retry that waits now. Raise NotFound; Conflict when none waits for its time."""
    if not await rows.retry_now(workspace, event_id, endpoint_id):
        (delivery,) = await reads.deliveries_of(workspace, event_id, endpoint_id)
        behind = delivery.state == "behind"
        why = "It waits its turn, behind others." if behind else "No retry waits for its time any more."
        raise Conflict(why, code="wrong_state")


async def move(workspace: str | None, job_id: str, step: str) -> Redrive:
    """Take the step `pause`, `resume` or `cancel`; what was put back to wait stays so.

    Raise NotFound; Conflict when the job is in another state than the step begins with; Invalid for any other step.
    """
    if step not in _STEPS:
        raise Invalid("A redrive can be paused, resumed or canceled.")
    moved = await rows.move(workspace, job_id, *_STEPS[step])
    job = await one(workspace, job_id)
    if not moved:
        raise Conflict(f"The redrive is {job.state}.", code="wrong_state")
    return job


@query("There is no redrive {job_id}.")
async def one(workspace: str | None, job_id: str) -> Redrive:
    """Return one job. Raise NotFound."""


@query()
async def listed(workspace: str | None, limit: int = 100) -> list[Redrive]:
    """Return jobs, newest first."""


async def _criteria(workspace: str, selection: Selection) -> Criteria:
    if selection.endpoint_id:
        await reads.endpoint(workspace, selection.endpoint_id)
    elif selection.replay or selection.numbers:
        raise invalid_field("/endpoint_id", "required", "A replay goes to one endpoint: say which.")
    replay = selection.replay or selection.numbers is not None
    if replay and selection.outcomes:
        raise invalid_field("/outcomes", "not_together", "A replay sends every event, whatever came of it.")
    bound = "since" if selection.since else "until" if selection.until else None
    if bound and (selection.event_id or selection.numbers):
        raise invalid_field(f"/{bound}", "not_together", "What is named, by an event or numbers, needs no time.")
    for field, names, every in (("kinds", selection.kinds, EVERY_KIND), ("outcomes", selection.outcomes, OUTCOMES)):
        if unknown := [name for name in names if name not in every]:
            message = f"No such: {', '.join(unknown)}. There are: {', '.join(every)}."
            raise invalid_field(f"/{field}", "unknown", message)
    (first_event, end_event), (first, last) = await _range(workspace, selection), selection.numbers or (None, None)
    kinds, outcomes = list(selection.kinds) or None, list(selection.outcomes) or None
    return Criteria(
        workspace, first_event, end_event, selection.endpoint_id, kinds, outcomes, first, last, replay=replay
    )


async def _range(workspace: str, selection: Selection) -> tuple[str, str]:
    """The first event id, and where the range ends. Raise NotFound, Invalid."""
    if selection.event_id:
        return selection.event_id, rows.after(selection.event_id)
    if selection.numbers:
        numbered = await reads.events_of_numbers(workspace, selection.endpoint_id or "", *selection.numbers)
        return min(numbered), rows.after(max(numbered))
    first = ids.floor("evt", selection.since) if selection.since else "evt_"
    return first, ids.floor("evt", selection.until or clock.now() + timedelta(days=1))
