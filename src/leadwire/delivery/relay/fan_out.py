"""Events that were left to the relay become deliveries, one per enabled and subscribed endpoint.

One workspace at a time, in a transaction that no other relay has for the same workspace at once: so deliveries are made
in the order of the events. Where a workspace fails, its first events are tried one by one. One that fails rests, and
what comes after it in its order waits for it; when it has failed often, it is set aside until an operator releases it.
Where all fail, the workspace rests.
"""

from collections import deque
from typing import Final, NamedTuple

from leadwire.delivery import long_polls, metrics
from leadwire.delivery.endpoints import due
from leadwire.delivery.relay.queue_front import Front
from leadwire.delivery.streams import Key
from leadwire.infrastructure import db, telemetry
from leadwire.infrastructure.db.queries import query
from leadwire.infrastructure.db.statements import named
from leadwire.infrastructure.loop import Failing

DELIVERIES: Final = 2000
"""Deliveries of a batch, unless one event alone makes more."""
_WORKSPACES: Final = 20  # a round
_PATIENCE: Final = "100ms"  # for an endpoint that somebody is changing: the other workspaces wait as well
_APART: Final = 16  # events of a workspace that fails, which are tried one by one
_LOOKS: Final = 4  # 15 s: a statement may take 5 s, and a transaction has a few
_TRIES: Final = 6  # in half a minute: whatever is temporary has mostly ended by then

_POSITIONS, _BUSY, _HAVE, _CLOSED, _FRONT, _FAN_OUT, _SET_ASIDE, _RELEASE = named(
    __file__, "positions busy have closed front fan_out set_aside release"
)
_ALL: Final = 2**31 - 1
_failing: Final = Failing("fan_out")


class FanOut(NamedTuple):
    """How many events were relayed, the keys to put into the streams, how many deliveries have to wait, and of which
    endpoints. `after` is where the next round begins, '' for the first workspace.
    """

    events: int
    keys: list[Key]
    waiting: int
    endpoints: set[str]
    after: str


class _Elsewhere(Exception):
    """Another relay has the workspace."""


class OutboxFront:
    """The position from which on the outbox is read. An event may be committed seconds after it was given one, and goes
    before those of its subject that come after it. So the front is behind what was given some looks ago.
    """

    def __init__(self) -> None:
        self._front, self._given = Front(0), deque([0] * _LOOKS, _LOOKS)

    async def since(self) -> int:
        """Return from where on to look this time."""
        if (since := self._front.since()) is not None:
            return since
        position, oldest = await _POSITIONS.one(LookupError())
        front = self._given[0]
        self._front.at(min(front, oldest or front))
        self._given.append(position)
        return 0


async def fan_out(
    after: str = "", deliveries: int = DELIVERIES, front: OutboxFront | None = None, soon: float = 0.0
) -> FanOut:
    """Relay a batch of each of the workspaces that follow `after` and have events.

    Endpoints that are due within `soon` seconds stay due then: the caller admits what waits for them now. Raise
    db.TRANSIENT, unless something was relayed before.
    """
    since = await front.since() if front else 0
    values = {"after": after, "most": _WORKSPACES, "resting": _failing.resting(), "since": since}
    busy = [row["workspace_id"] for row in await _BUSY.rows(**values)]
    rows, failed = list[db.Row](), list[str]()
    for workspace in busy:
        try:
            rows += await _of_workspace(workspace, since, deliveries // len(busy), _failing.resting(), soon=soon)
        except (_Elsewhere, db.Locked, db.Deadlock):
            continue  # the next round tries again
        except db.TRANSIENT:
            if not rows:
                raise
            break
        except Exception:  # noqa: BLE001 - whatever it is, it is about this workspace
            failed.append(workspace)
    _failing.succeeded(set(busy) - set(failed))
    for workspace in failed:
        rows += await _one_by_one(workspace, since)
    _failing.succeeded(row["event_id"] for row in rows)
    ages = [row["age"] for row in rows if row["age"] is not None]
    new = [row for row in rows if row["age"] is None]
    metrics.relayed(ages)
    keys = [Key(row["event_id"], row["endpoint_id"], 0) for row in new if row["state"] == "queued"]
    waiting = [row["endpoint_id"] for row in new if row["state"] == "waiting"]
    for row in new:
        if row["test"] and row["state"] == "waiting":  # for a receiver that fetches, perhaps of a disabled endpoint
            long_polls.wake(row["endpoint_id"])
    return FanOut(len(ages), keys, len(waiting), set(waiting), busy[-1] if len(busy) == _WORKSPACES else "")


async def release(event_id: str | None = None) -> int:
    """Let events that were set aside be tried again, one or all. Return how many there were."""
    return len(await _RELEASE.rows(event_id=event_id))


@query()
async def listed() -> list[tuple[str, str, str]]:
    """Return event, kind and error of each that is set aside, the oldest first."""


async def _of_workspace(
    workspace: str, since: int, deliveries: int, resting: list[str], event_id: str | None = None, soon: float = 0.0
) -> list[db.Row]:
    """Relay a workspace's next events, or this one, but none that waits for `resting`. Return the statement's rows.
    Raise _Elsewhere.
    """
    async with db.transaction():
        if not await _HAVE.value(workspace=workspace, patience=_PATIENCE):
            raise _Elsewhere
        closed = await due.wake([row["id"] for row in await _CLOSED.rows(workspace=workspace)], soon=soon)
        values = {"workspace": workspace, "since": since, "deliveries": deliveries, "event_id": event_id}
        return await _FAN_OUT.rows(**values, closed=list(closed), resting=resting)


async def _one_by_one(workspace: str, since: int) -> list[db.Row]:
    """Relay the first events of a workspace, each by itself. Raise nothing: the others go on."""
    rows = list[db.Row]()
    try:
        resting = _failing.resting()
        front = await _FRONT.rows(workspace=workspace, since=since, resting=resting, most=_APART)
        events = [row["event_id"] for row in front]
        errors = list[Exception]()
        for event_id in events:
            try:
                rows += await _of_workspace(workspace, since, _ALL, resting, event_id)
            except _Elsewhere:
                break  # the others of its subject come after it
            except db.TRANSIENT:
                raise
            except Exception as error:  # noqa: BLE001 - whatever it is, it is about this event
                errors.append(error)
                resting.append(event_id)  # however long this takes
                await _failed(workspace, event_id, error)
        if errors and len(errors) == len(events):
            _failing.failed(workspace, errors[0])
    except Exception as error:  # noqa: BLE001 - the others go on
        _failing.failed(workspace, error)
    return rows


async def _failed(workspace: str, event_id: str, error: Exception) -> None:
    """Let an event rest, or set it aside. What somebody has locked, or has ended, is not the event's fault."""
    if _failing.failed(event_id, error) < _TRIES or isinstance(error, (db.Locked, db.Canceled)):
        return
    await _SET_ASIDE.rows(event_id=event_id, error=f"{type(error).__name__}: {error}"[:500])
    _failing.succeeded([event_id, workspace])  # it is tried anew when it is released
    telemetry.fail("event.set_aside", error=error, event_id=event_id, workspace_id=workspace)
