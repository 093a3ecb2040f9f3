"""What the receiver of an endpoint may ask for, with a token of its own: checkpoints, and deliveries again."""

from typing import Final

import msgspec
from msgspec import Struct

from leadwire.delivery import checkpoints, signing
from leadwire.delivery.endpoints import changes as rows
from leadwire.domain.accounts import keys
from leadwire.domain.webhooks import changes, reads, redrives, rotation
from leadwire.infrastructure import clock, db, ids, settings, telemetry
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import Conflict

# Whose token it is, and whether the workspace is suspended.
_BY_TOKEN: Final = sql("""
SELECT e.id, e.workspace_id, w.suspended_at IS NOT NULL
FROM webhook_endpoint e JOIN workspace w ON w.id = e.workspace_id WHERE e.token = :token""")


class Receiver(Struct, frozen=True):
    """Whose token it is."""

    endpoint_id: str
    workspace: str
    suspended: bool = False
    """Whether the workspace is."""


class Signed(Struct, frozen=True):
    """A body, and the headers that sign it as those of a delivery do."""

    body: bytes
    headers: list[tuple[str, str]]


class _Enveloped(Struct, frozen=True):
    checkpoint: checkpoints.Checkpoint  # no key of an event


async def make_token(workspace: str | None, endpoint_id: str) -> str:
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
    found = await _BY_TOKEN.row(token=keys.digest(token))
    return Receiver(*found) if found else None


async def checkpoint(receiver: Receiver, after: int) -> Signed:
    """Return the checkpoint of the numbers above `after`, signed with the endpoint's secret.

    Raise Conflict when deliveries have no numbers: a checkpoint would say nothing of them.
    """
    if not (await reads.endpoint(receiver.workspace, receiver.endpoint_id)).numbered:
        raise Conflict("The deliveries of this endpoint have no numbers.", code="not_numbered")
    found = await checkpoints.read(receiver.workspace, receiver.endpoint_id, after)
    body = msgspec.json.encode(_Enveloped(found))
    secret, staged = await rotation.reveal(receiver.workspace, receiver.endpoint_id)
    at = int(clock.now().timestamp())
    return Signed(body, signing.signatures(ids.new("chk"), body, secret, staged, at, settings.get().header_prefix))


async def replay(receiver: Receiver, first: int, last: int) -> int:
    """Send what has these numbers again. Return how many deliveries. Raise NotFound, Invalid."""
    count = await redrives.redrive_numbers(receiver.workspace, receiver.endpoint_id, first, last)
    telemetry.log("receiver.replayed", endpoint_id=receiver.endpoint_id, first=first, last=last, deliveries=count)
    return count
