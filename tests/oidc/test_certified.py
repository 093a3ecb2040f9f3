"""With a certified provider that knows nothing of Leadwire: sign-in, step-up, roles, logout from the back channel."""

import pytest

from leadwire.infrastructure import db
from tests.interfaces.web.conftest import Browser
from tests.oidc.certified import Person, registered, running
from tests.serving import served
from tests.waiting import eventually


@pytest.fixture(scope="module")
async def issuer():
    async with running() as address:
        yield address


@pytest.fixture
async def ours(database):
    async with served() as address:
        yield address


async def through(ours, browser, person, provider, login, query=""):
    """To the provider and back; answers where the browser goes on, or the page of a refusal."""
    left = await browser.get(f"{ours}/sso/{provider}{query}")
    assert left.status_code == 303, left.text[-800:]
    done = await browser.get(await person.pass_through(left.headers["location"], ours, login))
    return done.headers.get("location") or done.text


async def test_in_anew_and_out(workspace, issuer, ours):
    provider = await registered(workspace, issuer, ours)
    async with Browser(base_url=ours) as browser, Person() as person:
        assert await through(ours, browser, person, provider, "ada@example.org", "?next=/leads") == "/leads"
        assert await db.value("SELECT email || ' ' || role FROM user_account") == "ada@example.org agent"
        assert await db.value("SELECT subject FROM user_identity") == "ada@example.org"
        assert await db.value("SELECT provider_session <> '' FROM user_session")

        again = await through(ours, browser, person, provider, "ada@example.org", "?confirm=1&next=/account")
        assert again == "/account"
        assert await db.value("SELECT confirmed_at > now() - interval '5 minutes' FROM user_session")
        assert "Confirmed." in await browser.open("/account")

        page = await person.get(f"{issuer}/session/end")
        await person.submit(page, logout="yes")
        await eventually(lambda: db.value("SELECT count(*) = 0 FROM user_session"))
        assert (await browser.get("/account")).headers["location"].startswith("/sign-in")


async def test_somebody_else_cannot_confirm(workspace, issuer, ours):
    provider = await registered(workspace, issuer, ours)
    async with Browser(base_url=ours) as browser, Person() as person, Person() as other:
        await through(ours, browser, person, provider, "ada@example.org")
        assert "another_person" in await through(ours, browser, other, provider, "eve@example.org", "?confirm=1")


@pytest.mark.parametrize("alg", ["PS256", "ES256", "EdDSA", "Ed25519"])
async def test_other_algorithms(workspace, issuer, ours, alg):
    provider = await registered(workspace, issuer, ours, client={"id_token_signed_response_alg": alg})
    async with Browser(base_url=ours) as browser, Person() as person:
        assert await through(ours, browser, person, provider, "ada@example.org") == "/"


async def test_a_group_is_a_role_and_a_foreign_address_is_refused(workspace, issuer, ours):
    provider = await registered(workspace, issuer, ours, role_claim="groups", roles={"it": "admin"})
    async with Browser(base_url=ours) as browser, Person() as person, Person() as other:
        await through(ours, browser, person, provider, "boss@example.org")
        assert await db.value("SELECT role FROM user_account") == "admin"
        assert "foreign_domain" in await through(ours, browser, other, provider, "eve@example.com")
        assert await db.value("SELECT count(*) FROM user_account") == 1
