"""Another LEADWIRE_SECRET_KEY, and the old one thrown away."""

import base64
import hashlib
import secrets

import pytest
import trustme
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from leadwire.delivery.endpoints import table as endpoints
from leadwire.domain.accounts import changes as accounts_changes
from leadwire.domain.webhooks import certificates, changes, rotation, signing_keys
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db, secret_box
from leadwire.infrastructure.db import declared
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.secret_box import SecretBox
from tests.interfaces.web.test_certificates import issued

SEALED = [column for some in declared.sealed().values() for column in some]


def key():
    return base64.b64encode(secrets.token_bytes(32)).decode()


OLD = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="  # the tests' own


@pytest.fixture
async def sealed(workspace):
    """An endpoint with everything that is sealed; answers the column's values with their places."""
    made = await changes.create(workspace, "https://crm.example.com/", ["lead.created"])
    await rotation.stage(workspace, made.id)
    await changes.configure(workspace, made.id, EndpointChange(headers={"X-Api-Key": "hidden"}, ed25519=True))
    await signing_keys.stage(workspace, made.id)
    await certificates.replace(workspace, made.id, **issued(trustme.CA()))

    async def values():
        row = await db.row(f"SELECT {', '.join(one._meta.name for one in endpoints.SEALED)} FROM webhook_endpoint")
        return [(value, secret_box.place(column, made.id)) for column, value in zip(endpoints.SEALED, row, strict=True)]

    return values


async def resealed(ring, **how):
    return [await secret_box.reseal(ring, column, **how) for column in SEALED]


async def test_everything_is_opened_by_the_new_key_alone(sealed, monkeypatch):
    new = key()
    before = [SecretBox((OLD,)).open(*value) for value in await sealed()]
    both, alone = SecretBox((new, OLD)), SecretBox((new,))
    with pytest.raises(OperatorError):
        alone.open(*(await sealed())[0])
    assert sum(await resealed(both)) == 6
    assert [alone.open(*value) for value in await sealed()] == before
    assert sum(await resealed(both)) == 0


async def test_what_is_sealed_opens_at_its_own_place_alone(sealed):
    box, values = SecretBox((OLD,)), await sealed()
    places = [place for _, place in values]
    for value, own in values:
        for place in {*places, "webhook_endpoint.secret we_other", "user_account.totp_secret we_1", ""} - {own}:
            with pytest.raises(OperatorError):
                box.open(value, place)


async def test_the_secret_of_another_endpoint_is_neither_shown_nor_used(workspace):
    mine = await changes.create(workspace, "https://crm.example.com/", ["lead.created"])
    theirs = await changes.create(
        await accounts_changes.create_workspace("Beta"), "https://b.example/", ["lead.created"]
    )
    await db.rows(
        "UPDATE webhook_endpoint SET secret = (SELECT secret FROM webhook_endpoint WHERE id = $2) WHERE id = $1",
        mine.id, theirs.id,
    )  # fmt: skip
    with pytest.raises(OperatorError):
        await rotation.reveal(workspace, mine.id)
    assert (await endpoints.count_secrets()).endpoints == 2


async def test_what_the_version_before_has_sealed_opens_and_is_bound_by_reseal(sealed, monkeypatch):
    """And before somebody goes back to it, everything is as it was."""
    monkeypatch.setattr(secret_box, "_PAGE", 1)
    box, before = SecretBox((OLD,)), [SecretBox((OLD,)).open(*value) for value in await sealed()]
    fingerprint = hashlib.sha256(base64.b64decode(OLD)).digest()[:4]
    for bound in (False, True, False):
        assert [sum(await resealed(box, bound=bound)) for _ in range(2)] == [6, 0]
        assert [box.open(*value) for value in await sealed()] == before
        assert [value[:4] == fingerprint for value, _ in await sealed()] == [not bound] * 6
    # As that version opens it.
    assert [box.open(value) for value, _ in await sealed()] == before
    assert [AESGCM(base64.b64decode(OLD)).decrypt(value[4:16], value[16:], None).decode()
            for value, _ in await sealed()] == before  # fmt: skip


async def test_values_are_moved_in_batches(workspace, monkeypatch):
    monkeypatch.setattr(secret_box, "_PAGE", 2)
    for _ in range(5):
        await changes.create(workspace, "https://crm.example.com/", ["lead.created"])
    assert sum(await resealed(SecretBox((key(), OLD)))) == 5


async def test_what_no_key_opens_stays_and_is_told(sealed):
    before = await sealed()
    with pytest.raises(OperatorError, match="does not open"):
        await resealed(SecretBox((key(), key())))
    assert await sealed() == before


async def test_every_sealed_column_is_known(database):
    """Whoever seals something new has to add it: a key that is thrown away takes it along."""
    found = await db.rows(
        """SELECT table_name || '.' || column_name FROM information_schema.columns
           WHERE table_schema = 'public' AND data_type = 'bytea'"""
    )
    hashes = {
        "api_key.hash",
        "invitation.hash",
        "password_reset.hash",
        "user_session.hash",
        "idempotent_answer.fingerprint",
    }
    hashes |= {"visit.token_hash", "visit.start_key", "visit.address", "blocked_visitor.address"}
    hashes |= {"webhook_endpoint.token", "audit_entry.hash", "sign_on_used.hash"}
    hashes |= {"recovery_code.hash", "passkey.credential_id", "passkey.public_key"}  # the last two are no secrets
    assert {name for (name,) in found} - hashes - {"idempotent_answer.body"} == {
        f"{one._meta.table._meta.tablename}.{one._meta.db_column_name}" for one in SEALED
    }
