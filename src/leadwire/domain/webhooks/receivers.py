"""What the receiver of an endpoint may ask for, with a token of its own: checkpoints, deliveries again, and, where it
fetches, deliveries.
"""

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from msgspec import Struct, structs

from leadwire.delivery import checkpoints, long_polls, pull, signing
from leadwire.delivery.endpoints import changes as rows
from leadwire.delivery.pull import Handed
from leadwire.domain.accounts import keys
from leadwire.domain.webhooks import changes, reads, redrives, rotation
from leadwire.domain.webhooks.redrives import Redrive, Selection
from leadwire.infrastructure import clock, db, ids, settings, telemetry
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import Conflict, OperatorError, RateLimited, Unavailable, invalid_field

# Whose token it is, whether the workspace is suspended, and whether the receiver fetches.
_BY_TOKEN: Final = sql(f"""
SELECT e.id, e.workspace_id, w.suspended_at IS NOT NULL, starts_with(e.url, '{pull.SCHEME}')
FROM webhook_endpoint e JOIN workspace w ON w.id = e.workspace_id WHERE e.token = :token""")

MOST_WAITING: Final = 4
"""Fetches of an endpoint that wait at a time in one process."""
_LOOK: Final = 5.0  # seconds; what a wake-up that was lost costs


class Receiver(Struct, frozen=True):
    """Whose token it is."""

    endpoint_id: str
    workspace: str
    suspended: bool = False
    """Whether the workspace is."""
    fetches: bool = False
    """Whether the endpoint has no address: nothing is sent to it."""


class Signed(Struct, frozen=True):
    """A body, and the headers that sign it as those of a delivery do."""

    body: bytes
    headers: list[tuple[str, str]]


class Batch(Struct, frozen=True):
    """What was handed out at once. Acknowledge each delivery within so many seconds, or it counts as failed."""

    lease: str
    seconds: float
    deliveries: list[Handed]


class Acknowledged(Struct, frozen=True):
    """Which events are delivered, and which were not: the lease is over, or had no such event."""

    acknowledged: list[str]
    late: list[str]


async def make_token(workspace: str, endpoint_id: str) -> str:
    """Make the token of an endpoint's receiver, instead of the present one. Return it, this once. Raise NotFound."""
    token = keys.new(keys.RECEIVER)
    async with db.transaction():
        await changes.locked(workspace, endpoint_id)
        await rows.update(endpoint_id, {"token": keys.digest(token), "token_at": clock.now()})
    return token


async def authenticate(token: str) -> Receiver | None:
    """Return whose token it is, or None."""
    if keys.lookup_of(token, keys.RECEIVER) is None:
        return None
    row = await _BY_TOKEN.row(token=keys.digest(token))
    return Receiver(*row) if row else None


async def checkpoint(receiver: Receiver, after: int) -> Signed:
    """Return the checkpoint of the numbers above `after`, signed with the endpoint's secret.

    Raise Conflict when deliveries have no numbers: a checkpoint would say nothing of them.
    """
    if not (await reads.endpoint(receiver.workspace, receiver.endpoint_id)).numbered:
        raise Conflict("The deliveries of this endpoint have no numbers.", code="not_numbered")
    ranges = await checkpoints.read(receiver.workspace, receiver.endpoint_id, after)
    body = msgspec.json.encode({"checkpoint": ranges})  # no key of an event
    secret, staged, key = await rotation.signers(receiver.workspace, receiver.endpoint_id)
    at, prefix = int(clock.parse(ranges.at).timestamp()), settings.get().header_prefix
    return Signed(body, signing.signatures(ids.new("chk"), body, secret, staged, at, prefix, key))


async def redrive(receiver: Receiver, selection: Selection, per_second: int = redrives.FASTEST) -> Redrive:
    """Have deliveries to the receiver's endpoint sent again.

    Raise what `redrives.start` raises; Invalid for a kind that the endpoint does not subscribe to.
    """
    chosen = await _its_own(receiver, selection)
    job = await redrives.start(receiver.workspace, chosen, per_second)
    telemetry.log("receiver.redriven", endpoint_id=receiver.endpoint_id, job_id=job.id, deliveries=job.total)
    return job


async def count(receiver: Receiver, selection: Selection) -> int:
    """Return how many deliveries `redrive` would send again. Raise what it raises."""
    return await redrives.count(receiver.workspace, await _its_own(receiver, selection))


async def _its_own(receiver: Receiver, selection: Selection) -> Selection:
    kinds = (await reads.endpoint(receiver.workspace, receiver.endpoint_id)).events
    if others := [kind for kind in selection.kinds if kind not in kinds]:
        message = f"The endpoint does not subscribe to {', '.join(others)}, but to {', '.join(kinds)}."
        raise invalid_field("/kinds", "unknown", message)
    return structs.replace(selection, endpoint_id=receiver.endpoint_id)


async def wait(receiver: Receiver, seconds: float, gone: asyncio.Future[None], over: Callable[[], bool]) -> None:
    """Wait until there is something to fetch, `seconds` at the most, and no longer than until the caller has `gone`, or
    the process says that it is `over`, which is looked at after each wake-up.

    Raise Conflict for an endpoint that Leadwire sends to; RateLimited when too many wait for it.
    """
    if not receiver.fetches:
        raise Conflict("Leadwire sends to this endpoint: its receiver fetches nothing.", code="not_fetched")
    now = asyncio.get_running_loop().time
    end = now() + seconds
    with long_polls.waiting(receiver.endpoint_id) as woken:
        if seconds and long_polls.count(receiver.endpoint_id) > MOST_WAITING:
            message = f"At most {MOST_WAITING} fetches of an endpoint wait at a time."
            raise RateLimited(message, code="too_many_waiting", headers={"Retry-After": "1"})
        gone.add_done_callback(lambda _: woken.set())
        while not (gone.done() or over()) and (left := end - now()) > 0:
            woken.clear()
            if (due := await pull.until_due(receiver.endpoint_id, receiver.workspace)) <= 0:
                return
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, due, _LOOK)):
                    await woken.wait()


async def fetch(receiver: Receiver, most: int) -> Batch:
    """Hand out up to `most` deliveries. Raise Unavailable."""
    try:
        lease, handed = await pull.take(receiver.endpoint_id, receiver.workspace, most, settings.get())
    except OperatorError as error:
        telemetry.fail("secret.unreadable", error=error, endpoint_id=receiver.endpoint_id)
        raise Unavailable("The endpoint's secret cannot be read just now.") from error
    return Batch(lease, settings.get().delivery_timeout, handed)


async def acknowledge(receiver: Receiver, lease: str, events: Sequence[str]) -> Acknowledged:
    """Record that these events of a batch have arrived. To acknowledge one again changes nothing. Raise Unavailable."""
    try:
        delivered = await pull.acknowledge(receiver.endpoint_id, receiver.workspace, lease, events, settings.get())
    except db.Locked as error:
        raise Unavailable("The endpoint is being changed.", headers={"Retry-After": "1"}) from error
    distinct = list(dict.fromkeys(events))
    return Acknowledged(
        [event for event in distinct if event in delivered], [event for event in distinct if event not in delivered]
    )
