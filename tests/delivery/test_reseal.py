"""Another LEADWIRE_SECRET_KEY, and the old one thrown away."""

import base64
import secrets

import pytest
import trustme

from leadwire.delivery.endpoints import table as endpoints
from leadwire.domain.accounts import table as accounts
from leadwire.domain.mail import table as mail
from leadwire.domain.webhooks import certificates, changes, rotation
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db, secret_box
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.secret_box import SecretBox
from tests.interfaces.web.test_certificates import issued

SEALED = (*endpoints.SEALED, *accounts.SEALED, *mail.SEALED)


def key():
    return base64.b64encode(secrets.token_bytes(32)).decode()


@pytest.fixture
async def sealed(workspace):
    """An endpoint with everything that is sealed; answers the column's values."""
    made = await changes.create(workspace, "https://crm.example.com/", ["lead.created"])
    await rotation.stage(workspace, made.id)
    await changes.configure(workspace, made.id, EndpointChange(headers={"X-Api-Key": "hidden"}))

    await certificates.replace(workspace, made.id, **issued(trustme.CA()))

    async def values():
        return list(await db.row("SELECT secret, staged_secret, headers, certificate FROM webhook_endpoint"))

    return values


async def resealed(ring):
    return [await secret_box.reseal(ring, column) for column in SEALED]


async def test_everything_is_opened_by_the_new_key_alone(sealed, monkeypatch):
    old, new = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=", key()  # the tests' own
    before = [SecretBox((old,)).open(value) for value in await sealed()]
    both, alone = SecretBox((new, old)), SecretBox((new,))
    with pytest.raises(OperatorError):
        alone.open((await sealed())[0])
    assert sum(await resealed(both)) == 4
    assert [alone.open(value) for value in await sealed()] == before
    assert sum(await resealed(both)) == 0


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
