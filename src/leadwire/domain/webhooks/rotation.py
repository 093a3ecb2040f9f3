"""An endpoint's secret, and its replacement in two steps without a gap.

Staged, the next secret signs beside the present one in `webhook-signature`; the receiver learns it and accepts both.
Promoted, it is the secret, in `X-Service-Signature` too.
"""

import functools
from typing import Any

from leadwire.delivery import signing
from leadwire.delivery.endpoints import changes as rows
from leadwire.delivery.endpoints import table
from leadwire.delivery.endpoints.table import WebhookEndpoint
from leadwire.domain.webhooks import changes, reads
from leadwire.domain.webhooks.schema import Endpoint
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Conflict, NotFound


async def stage(workspace: str, endpoint_id: str) -> str:
    """Make the next secret, which signs too from now on. Return it.

    Raise NotFound; Conflict when one is staged already: a receiver may know it.
    """
    secret = signing.new_secret()
    async with db.transaction():
        if (await changes.locked(workspace, endpoint_id)).staged_at:
            raise Conflict("A secret is staged already.", code="already_staged")
        sealed = table.sealed(endpoint_id, WebhookEndpoint.staged_secret, secret)
        await rows.update(endpoint_id, {"staged_secret": sealed, "staged_at": clock.now()})
    return secret


async def promote(workspace: str, endpoint_id: str) -> Endpoint:
    """Let the staged secret replace the present one. Raise NotFound, Conflict when none is staged."""
    async with db.transaction():
        await rows.lock(endpoint_id)
        staged = (await _secrets(workspace, endpoint_id))["staged_secret"]
        if staged is None:
            raise Conflict("No secret is staged.", code="nothing_staged")
        text = table.opened(endpoint_id, WebhookEndpoint.staged_secret, staged)
        secret = table.sealed(endpoint_id, WebhookEndpoint.secret, text)
        await rows.update(endpoint_id, {"secret": secret, "staged_secret": None, "staged_at": None})
        return await reads.endpoint(workspace, endpoint_id)


async def discard(workspace: str, endpoint_id: str) -> Endpoint:
    """Remove the staged secret. Raise NotFound."""
    async with db.transaction():
        await changes.locked(workspace, endpoint_id)
        await rows.update(endpoint_id, {"staged_secret": None, "staged_at": None})
        return await reads.endpoint(workspace, endpoint_id)


async def reveal(workspace: str, endpoint_id: str) -> tuple[str, str | None]:
    """Return the secret and the staged one, to be shown to somebody who may see them. Raise NotFound."""
    return (await signers(workspace, endpoint_id))[:2]


async def signers(workspace: str, endpoint_id: str) -> tuple[str, str | None, str]:
    """Return the two and the key of Ed25519, to sign with: it is shown to nobody. Empty for none. Raise NotFound."""
    row = await _secrets(workspace, endpoint_id)
    secret, staged, key = map(functools.partial(table.opened, endpoint_id), table.SEALED, row.values())
    return secret, staged or None, key


async def _secrets(workspace: str, endpoint_id: str) -> dict[str, Any]:
    its = (WebhookEndpoint.id == endpoint_id, WebhookEndpoint.workspace_id == workspace)
    row = await WebhookEndpoint.select(*table.SEALED[:3]).where(*its).first()
    if row is None:
        raise NotFound(f"There is no endpoint {endpoint_id}.")
    return row
