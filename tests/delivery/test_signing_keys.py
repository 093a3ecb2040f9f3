"""Signatures without a shared secret: a receiver that has nothing but the address of the keys, and their rotation."""

import base64
from datetime import timedelta

import httpx
import msgspec
import pytest
from cryptography.exceptions import InvalidSignature
from joserfc.jwk import KeySet

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.accounts.changes import workspaces as moves
from leadwire.domain.bots import changes as bots
from leadwire.domain.webhooks import changes, reads, receivers, rotation, signing_keys
from leadwire.domain.webhooks.receivers import Receiver as Caller
from leadwire.domain.webhooks.schema import PUBLISHED_AFTER, PUBLISHED_BEFORE, EndpointChange
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Conflict, NotFound
from leadwire_development import verifying
from tests import make
from tests.delivery.wired import endpoint
from tests.serving import served


@pytest.fixture
async def address(database):
    async with served() as found:
        yield found


@pytest.fixture
def key_set(address):
    """Fetch what is published of an endpoint."""

    async def fetch(endpoint_id):
        async with httpx.AsyncClient(timeout=240) as client:
            answer = await client.get(f"{address}/.well-known/leadwire/{endpoint_id}/jwks.json")
        return KeySet.import_key_set(answer.raise_for_status().json())

    return fetch


async def signed(workspace, url, *events):
    """An endpoint that signs with a key."""
    made = await endpoint(workspace, url, *events)
    await changes.configure(workspace, made.id, EndpointChange(ed25519=True))
    return made


def signer(keys, delivery):
    """The id of the published key that made the signature of a delivery; None for none of them."""
    content = f"{delivery.webhook_id}.{delivery.headers['webhook-timestamp']}.".encode() + delivery.body
    (given,) = [one for one in delivery.headers["webhook-signature"].split(" ") if one.startswith("v1a,")]
    for key in keys:
        try:
            key.public_key.verify(base64.b64decode(given.removeprefix("v1a,")), content)
        except InvalidSignature:
            continue
        return key.kid
    return None


async def states(workspace, made):
    return [(one.kid, one.state) for one in (await reads.endpoint(workspace, made.id)).public_keys]


def later(seconds):
    return clock.at(clock.now() + seconds)


async def test_who_asks_for_nothing_gets_what_there_always_was(workspace, bot, wire, receiver, address):
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.turn()
    (delivery,) = receiver.deliveries
    assert delivery.headers["webhook-signature"].startswith("v1,")
    assert " " not in delivery.headers["webhook-signature"]
    async with httpx.AsyncClient(timeout=240) as client:
        for unknown in (made.id, "we_unknown", "%00", "we_%ff", "x" * 2000):
            answer = await client.get(f"{address}/.well-known/leadwire/{unknown}/jwks.json")
            assert (answer.status_code, answer.json()["code"]) == (404, "not_found"), unknown


async def test_a_delivery_is_verified_with_what_is_published(workspace, bot, wire, receiver, address, key_set):
    made = await signed(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.turn()
    (delivery,) = receiver.deliveries
    keys = await key_set(made.id)
    (key,) = keys
    assert signer(keys, delivery) == key.kid == key.thumbprint()
    verifying.verify(delivery.body, delivery.headers, made.secret, now=int(clock.now().timestamp()))
    changed = delivery._replace(body=delivery.body.replace(b"lead", b"Lead"))
    again = delivery._replace(headers={**delivery.headers, "webhook-timestamp": "1"})
    other = delivery._replace(headers={**delivery.headers, "webhook-id": "evt_2"})
    assert [signer(keys, one) for one in (changed, again, other)] == [None] * 3


async def test_keys_are_served_as_others_read_them(workspace, receiver, address):
    made = await signed(workspace, receiver.url)
    (key,) = (await reads.endpoint(workspace, made.id)).public_keys
    async with httpx.AsyncClient(base_url=address, timeout=240) as client:
        answer = await client.get(f"/.well-known/leadwire/{made.id}/jwks.json")
        head = await client.head(f"/.well-known/leadwire/{made.id}/jwks.json")
    expected = {"kty": "OKP", "crv": "Ed25519", "alg": "EdDSA", "use": "sig", "kid": key.kid, "x": key.x}
    assert answer.json() == {"keys": [expected]}
    assert answer.headers["content-type"] == "application/jwk-set+json"
    assert answer.headers["cache-control"] == "public, max-age=300"
    assert (head.status_code, head.content) == (200, b"")
    assert base64.b64decode(key.text.removeprefix("whpk_")) == base64.urlsafe_b64decode(key.x + "=")


def test_the_thumbprint_of_rfc_8037():
    x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
    assert signing_keys.thumbprint(x) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


async def test_no_other_customer_has_the_key(workspace, bot, wire, receiver, key_set):
    """Nor has another endpoint: who receives there cannot pass on what was sent to them."""
    mine, beside = await signed(workspace, receiver.url), await signed(workspace, receiver.url)
    other = await accounts.create_workspace("Beta")
    theirs = await signed(other, receiver.url)
    await make.lead(other, await bots.create(other, "Bot"))
    await wire.turn()
    (delivery,) = receiver.deliveries
    assert signer(await key_set(theirs.id), delivery)
    for made in (mine, beside):
        assert signer(await key_set(made.id), delivery) is None


async def test_a_rotation_while_deliveries_are_retried(workspace, bot, wire, receiver, db_clock, key_set):
    made = await signed(workspace, receiver.url)
    receiver.answer = 500
    await make.lead(workspace, bot)
    await wire.turn()
    ((old, _),) = await states(workspace, made)
    await signing_keys.stage(workspace, made.id)
    (_, (new, _)) = published = await states(workspace, made)
    assert published == [(old, "present"), (new, "next")]
    fetched = await key_set(made.id)  # a receiver may keep these until the next one signs
    await db_clock.forward(61)
    await wire.turn()
    with later(PUBLISHED_BEFORE):
        await signing_keys.promote(workspace, made.id)
        assert await states(workspace, made) == [(old, "former"), (new, "present")]
        fresh = await key_set(made.id)
    await db_clock.forward(301)
    receiver.answer = 204
    await wire.turn()
    assert [signer(fetched, one) for one in receiver.deliveries] == [old, old, new]
    assert [signer(fresh, one) for one in receiver.deliveries] == [old, old, new], "what was on its way, too"
    with later(PUBLISHED_BEFORE + PUBLISHED_AFTER):
        assert await states(workspace, made) == [(new, "present")]


async def test_a_key_signs_nothing_that_receivers_may_not_know(workspace, receiver):
    made = await signed(workspace, receiver.url)
    with pytest.raises(Conflict, match="No next key"):
        await signing_keys.promote(workspace, made.id)
    await signing_keys.stage(workspace, made.id)
    with pytest.raises(Conflict, match="published already"):
        await signing_keys.stage(workspace, made.id)
    with later(PUBLISHED_BEFORE - timedelta(seconds=1)), pytest.raises(Conflict, match="before") as refused:
        await signing_keys.promote(workspace, made.id)
    assert refused.value.code == "too_early"


async def test_former_keys_and_the_next_one_are_withdrawn(workspace, receiver):
    made = await signed(workspace, receiver.url)
    for number in (1, 2):
        await signing_keys.stage(workspace, made.id)
        with later(PUBLISHED_BEFORE * number):
            await signing_keys.promote(workspace, made.id)
    await signing_keys.stage(workspace, made.id)
    found = await states(workspace, made)
    assert [state for _, state in found] == ["former", "former", "present", "next"]
    await signing_keys.discard(workspace, made.id)
    assert await states(workspace, made) == [found[2]]
    with pytest.raises(Conflict, match="No next key"):
        await signing_keys.promote(workspace, made.id)


async def test_who_switches_it_off_and_on_has_another_key(workspace, bot, wire, receiver, key_set):
    made = await signed(workspace, receiver.url)
    before = await states(workspace, made)
    on = EndpointChange(ed25519=True)
    assert (await changes.configure(workspace, made.id, on)).changes == []
    assert await states(workspace, made) == before
    off = await changes.configure(workspace, made.id, EndpointChange(ed25519=False))
    assert (off.changes, off.public_keys) == (["ed25519: True -> False"], [])
    assert await db.value("SELECT num_nulls(signing_key, next_signing_key, public_keys) FROM webhook_endpoint") == 3
    await make.lead(workspace, bot)
    await wire.turn()
    assert "v1a," not in receiver.deliveries[0].headers["webhook-signature"]
    for change in (signing_keys.stage, signing_keys.promote, signing_keys.discard):
        with pytest.raises(Conflict, match="not signed with a key"):
            await change(workspace, made.id)
    await changes.configure(workspace, made.id, on)
    assert await states(workspace, made) != before


async def test_a_private_key_leaves_nowhere(workspace, bot, wire, receiver, address):
    made = await signed(workspace, receiver.url)
    await signing_keys.stage(workspace, made.id)
    private = (await rotation.signers(workspace, made.id))[2]
    assert len(base64.b64decode(private)) == 32
    kept = await db.value("SELECT row_to_json(e)::text FROM webhook_endpoint e")
    shown = msgspec.json.encode(await reads.endpoint(workspace, made.id)).decode()
    async with httpx.AsyncClient(timeout=240) as client:
        published = (await client.get(f"{address}/.well-known/leadwire/{made.id}/jwks.json")).text
    for text in (kept, shown, published):
        assert private not in text
    assert '"d"' not in published


async def test_another_workspace_cannot_touch_the_keys(workspace, receiver):
    made = await signed(workspace, receiver.url)
    for change in (signing_keys.stage, signing_keys.promote, signing_keys.discard):
        with pytest.raises(NotFound):
            await change("ws_other", made.id)


async def test_what_is_fetched_and_a_checkpoint_are_signed_alike(workspace, bot, key_set, wire):
    made = await signed(workspace, "pull:crm")
    await changes.configure(workspace, made.id, EndpointChange(numbered=True))
    await receivers.make_token(workspace, made.id)
    await make.lead(workspace, bot)
    await wire.relay()
    caller, keys = Caller(made.id, workspace, fetches=True), await key_set(made.id)
    (fetched,) = (await receivers.fetch(caller, 10)).deliveries
    checkpoint = await receivers.checkpoint(caller, 0)
    for headers, body in ((fetched.headers, fetched.body.encode()), (dict(checkpoint.headers), checkpoint.body)):
        content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        given = headers["webhook-signature"].split(" v1a,")[1]
        (key,) = keys
        key.public_key.verify(base64.b64decode(given), content)


async def test_an_endpoint_that_has_moved_says_where(workspace, receiver, address):
    made = await signed(workspace, receiver.url)
    path = f"/.well-known/leadwire/{made.id}/jwks.json"
    await moves.leave(workspace, "move", "https://b.example")
    async with httpx.AsyncClient(timeout=240) as client:
        answer = await client.get(address + path)
        assert (answer.status_code, answer.headers["location"]) == (303, f"https://b.example{path}")
        await db.rows("UPDATE workspace SET moved_to = ''")
        assert (await client.get(address + path)).status_code == 404


async def test_keys_go_with_their_endpoint(workspace, receiver, address):
    made = await signed(workspace, receiver.url)
    await changes.delete(workspace, made.id)
    async with httpx.AsyncClient(timeout=240) as client:
        assert (await client.get(f"{address}/.well-known/leadwire/{made.id}/jwks.json")).status_code == 404


async def test_a_key_that_cannot_be_read_holds_the_delivery(workspace, bot, wire, receiver):
    """It is not sent with less than was asked for."""
    await signed(workspace, receiver.url)
    await db.rows("UPDATE webhook_endpoint SET signing_key = secret")
    await make.lead(workspace, bot)
    await wire.turn()
    assert receiver.deliveries == []
    assert await db.value("SELECT state FROM delivery") == "waiting"
