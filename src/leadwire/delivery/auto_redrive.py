"""Dead letters that are sent again by themselves: of endpoints that are switched to it, once their receivers answer.

While a receiver fails, one of the oldest dead letters is sent now and then, for one attempt: a probe. When that or
anything else was answered with a 2xx, retries that would come later than the dead letters are brought forward, and
a redrive begins of all that have died since the switch was set.
"""

import math
from datetime import timedelta
from typing import Final

from leadwire.delivery import metrics, redrive_job
from leadwire.delivery.endpoints import due
from leadwire.delivery.streams import push
from leadwire.infrastructure import clock, db, ids, jobs, settings, telemetry
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.jobs import Again

OLDEST: Final = timedelta(days=3)
"""Older events are left to a person, before a failing endpoint is disabled."""
MOST: Final = 100_000
"""More dead letters are left to a person."""
_FIRST_PAUSE, _LONGEST_PAUSE = 15.0, 240.0  # seconds between probes; each is twice the one before
_LOOK: Final = 60.0  # seconds, where a person is at work
_WITHIN: Final = 240.0  # seconds in which all are sent, unless that is too fast
_FASTEST: Final = 250  # deliveries a second
_BROUGHT: Final = 2000  # retries at a time

_FAILED, _ENDPOINT, _NEXT, _BRING_FORWARD = named(__file__, "failed endpoint next bring_forward")


async def failed() -> list[jobs.Offer]:
    """Return the endpoints that have something to send again."""
    return [jobs.Offer(*row) for row in await _FAILED.rows(first=_first())]


async def step(endpoint_id: str, place: str) -> Again | None:
    """Send the next probe, or begin the redrive. Return when to look again; None when there is nothing to do.

    `place` is how many probes were sent, and the last one's event. Raise db.Locked when somebody is changing the
    endpoint.
    """
    count, _, probe = place.partition(" ")
    probes = int(count or 0)
    async with db.transaction():
        await due.PATIENCE.rows()
        endpoint = await _ENDPOINT.row(id=endpoint_id, probe=probe)
        if endpoint is None:
            return None
        if endpoint["probing"]:
            return Again(_FIRST_PAUSE, place)
        if probes and endpoint["answers"] and not endpoint["redriving"]:
            return await _begin(endpoint_id, endpoint, place)
        event = await _NEXT.value(id=endpoint_id, first=_first())
        if event is None:
            return None
        if endpoint["redriving"]:
            return Again(_LOOK, place)
        await redrive_job.once_more(event, endpoint_id)
    metrics.AUTO_REDRIVES.labels("probe").inc()
    return Again(min(_FIRST_PAUSE * 2.0 ** min(probes, 10), _LONGEST_PAUSE), f"{probes + 1} {event}")


async def _begin(endpoint_id: str, endpoint: db.Row, place: str) -> Again | None:
    """Bring retries forward, many at a time. Then begin the redrive, unless there are more dead letters than `MOST`."""
    await due.wake([endpoint_id])
    db.after_commit(push.wake_relay)
    schedule = settings.get().retry_schedule
    late = {"schedule": schedule, "longest": max(schedule, default=0), "within": _WITHIN, "most": _BROUGHT}
    if len(await _BRING_FORWARD.rows(id=endpoint_id, **late)) == _BROUGHT:
        return Again(0.0, place)
    workspace, end = endpoint["workspace_id"], ids.floor("evt", clock.now() + timedelta(days=1))
    criteria = redrive_job.Criteria(workspace, _first(), end, endpoint_id, died_since=endpoint["died_since"])
    total = await redrive_job.count(criteria)
    if total > MOST:
        return Again(_LONGEST_PAUSE, place)
    if total == 0:  # the probe was the last one
        return None
    await redrive_job.create(criteria, min(_FASTEST, math.ceil(total / _WITHIN) or 1))
    metrics.AUTO_REDRIVES.labels("redrive").inc()
    telemetry.log("redrive.begun", endpoint_id=endpoint_id, workspace_id=workspace, deliveries=total)
    return None


def _first() -> str:
    return ids.floor("evt", clock.now() - OLDEST)
