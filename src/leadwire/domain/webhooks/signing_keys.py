"""An endpoint's keys of Ed25519, for receivers that share no secret, and their replacement in two steps without a gap.

Staged, the next key is published and signs nothing yet. Promoted, it signs; the former one is published for a while.
"""

import base64
import hashlib
from collections.abc import Iterable
from typing import Literal

import msgspec
from piccolo.columns import Column

from leadwire.delivery import signing
from leadwire.delivery.endpoints import changes as rows
from leadwire.delivery.endpoints import table
from leadwire.delivery.endpoints.table import WebhookEndpoint
from leadwire.domain.webhooks import reads
from leadwire.domain.webhooks.schema import PUBLISHED_BEFORE, Endpoint, PublicKey
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Conflict


def switched(endpoint_id: str, *, on: bool) -> dict[str, object]:
    """The columns of an endpoint that from now on signs with a key of its own, or with none."""
    if not on:
        return {"signing_key": None, "next_signing_key": None, "public_keys": None}
    sealed, public = _new(endpoint_id, WebhookEndpoint.signing_key, "present")
    return {"signing_key": sealed, "public_keys": _text([public])}


async def stage(workspace: str, endpoint_id: str) -> Endpoint:
    """Publish the next key. Raise NotFound, Conflict when there is one already or the endpoint signs with none."""
    async with db.transaction():
        keys = await _locked(workspace, endpoint_id)
        if any(key.state == "next" for key in keys):
            raise Conflict("The next key is published already.", code="already_staged")
        sealed, public = _new(endpoint_id, WebhookEndpoint.next_signing_key, "next")
        await rows.update(endpoint_id, {"next_signing_key": sealed, "public_keys": _text([*keys, public])})
        return await reads.endpoint(workspace, endpoint_id)


async def promote(workspace: str, endpoint_id: str) -> Endpoint:
    """Sign with the next key instead of the present one. Raise NotFound, Conflict when there is none, or receivers may
    not have it yet.
    """
    async with db.transaction():
        keys = await _locked(workspace, endpoint_id)
        staged = next((key for key in keys if key.state == "next"), None)
        if staged is None:
            raise Conflict("No next key is published.", code="nothing_staged")
        known_at = clock.parse(staged.since) + PUBLISHED_BEFORE
        if known_at > clock.now():
            raise Conflict(f"Receivers may not have the next key before {clock.iso(known_at)}.", code="too_early")
        its = (WebhookEndpoint.workspace_id == workspace, WebhookEndpoint.id == endpoint_id)
        (key,) = await WebhookEndpoint.select(WebhookEndpoint.next_signing_key).where(*its).output(as_list=True)
        text = table.opened(endpoint_id, WebhookEndpoint.next_signing_key, key)
        sealed = table.sealed(endpoint_id, WebhookEndpoint.signing_key, text)
        values = {"signing_key": sealed, "next_signing_key": None, "public_keys": _text(map(_moved_on, keys))}
        await rows.update(endpoint_id, values)
        return await reads.endpoint(workspace, endpoint_id)


async def discard(workspace: str, endpoint_id: str) -> Endpoint:
    """Publish the present key alone, and forget the next one. Raise NotFound, Conflict."""
    async with db.transaction():
        present = [key for key in await _locked(workspace, endpoint_id) if key.state == "present"]
        await rows.update(endpoint_id, {"next_signing_key": None, "public_keys": _text(present)})
        return await reads.endpoint(workspace, endpoint_id)


async def _locked(workspace: str, endpoint_id: str) -> list[PublicKey]:
    await rows.lock(endpoint_id)
    if not (keys := (await reads.endpoint(workspace, endpoint_id)).public_keys):
        raise Conflict("The deliveries of this endpoint are not signed with a key.", code="no_keys")
    return keys


def _new(endpoint_id: str, column: Column, state: Literal["next", "present"]) -> tuple[bytes, PublicKey]:
    """A private key, sealed, and what is published of it."""
    private = signing.new_signing_key()
    x = _base64url(signing.public_key(private))
    return table.sealed(endpoint_id, column, private), PublicKey(thumbprint(x), x, state, clock.iso(clock.now()))


def thumbprint(x: str) -> str:
    """Of the key (RFC 7638 and RFC 8037, appendix A.3)."""
    return _base64url(hashlib.sha256(b'{"crv":"Ed25519","kty":"OKP","x":"%s"}' % x.encode()).digest())


def _moved_on(key: PublicKey) -> PublicKey:
    if key.state == "former":
        return key
    state: Literal["present", "former"] = "present" if key.state == "next" else "former"
    return msgspec.structs.replace(key, state=state, since=clock.iso(clock.now()))


def _text(keys: Iterable[PublicKey]) -> str:
    return msgspec.json.encode(list(keys)).decode()


def _base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
