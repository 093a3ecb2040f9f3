"""From where the web area may be used, and the page with the addresses that we send from."""

import pytest

from leadwire.domain.accounts.changes import workspaces
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.infrastructure import db, settings
from leadwire.interfaces.http import client_network
from tests.interfaces.web.conftest import PASSWORD, browser

OFFICE, HOME = "198.51.100.7", "203.0.113.9"


@pytest.fixture
def at(monkeypatch):
    """Sets where every request comes from."""

    def come_from(address):
        monkeypatch.setattr(client_network, "_caller", lambda _: client_network._address(address))

    return come_from


async def test_people_elsewhere_are_refused_with_and_without_a_session(admin, workspace, at):
    at(OFFICE)
    page = await admin.open("/team/networks")
    assert f"Your address is <code>{OFFICE}</code>" in page
    assert "is refused from now on" in await admin.fill("/team/networks", networks="198.51.100.0/24\n2001:db8::/32")
    assert "198.51.100.0/24\n2001:db8::/32" in await admin.open("/team/networks")
    (entry,) = await db.rows("SELECT subject, detail FROM audit_entry WHERE action = 'workspace.networks_changed'")
    assert tuple(entry) == (workspace, "networks: any -> 198.51.100.0/24 2001:db8::/32")

    at(HOME)
    assert (await admin.get("/", headers={"Accept": "application/json"})).json()["code"] == "address_not_allowed"
    page = await admin.open("/leads", 403)
    assert f"you are at {HOME}" in page
    assert (await admin.post("/keys", data={"form_token": admin.token})).status_code == 403
    async with browser() as other:
        await other.open("/sign-in")
        page = await other.fill("/sign-in", 403, email="ada@example.org", password=PASSWORD)
        assert f"you are at {HOME}" in page
        assert "E-mail or password is not right" in await other.fill(
            "/sign-in", 422, email="ada@example.org", password="x"
        )
    assert "Sign in to Leadwire" in await admin.open("/sign-in")  # for an account of another workspace
    assert (await admin.post("/sign-out", data={"form_token": admin.token})).status_code == 303
    at(OFFICE)
    assert "Sign in to Leadwire" in await admin.open("/")


async def test_who_has_just_come_from_elsewhere_is_not_taken_to_be_there(admin, workspace):
    await db.rows("UPDATE user_session SET address = $1", HOME)
    await workspaces.set_networks(workspace, [f"{OFFICE}/32"], OFFICE)
    assert await sessions.is_active(await sessions.person(admin.cookies["leadwire"], OFFICE))


async def test_an_open_page_ends_when_its_session_is_elsewhere(admin, workspace):
    me = await sessions.person(admin.cookies["leadwire"], admin.address)
    await db.rows("UPDATE user_session SET address = $1", HOME)
    assert await sessions.is_active(me)
    await workspaces.set_networks(workspace, [f"{OFFICE}/32"], OFFICE)
    assert not await sessions.is_active(me)
    await db.rows("UPDATE user_session SET address = $1", OFFICE)
    assert await sessions.is_active(me)


@pytest.mark.parametrize("given", ["198.51.101.0/24", "2001:db8::/32"])
async def test_nobody_locks_themselves_out(admin, at, given):
    at(OFFICE)
    await admin.open("/team/networks")
    page = await admin.fill("/team/networks", 422, networks=given)
    assert "you would lock yourself out" in page
    assert given in page
    assert await db.value("SELECT networks FROM workspace") == []


async def test_what_is_no_network_is_told_and_kept(admin, at):
    at(OFFICE)
    await admin.open("/team/networks")
    page = await admin.fill("/team/networks", 422, networks="198.51.100.7/24 <b>")
    assert "198.51.100.7/24 is not an address or network" in page
    assert "198.51.100.7/24 &lt;b&gt;" in page


async def test_an_operator_opens_it_again(workspace, admin, at):
    at(OFFICE)
    await workspaces.set_networks(workspace, [OFFICE], OFFICE)
    at(HOME)
    await admin.open("/", 403)
    await workspaces.clear_networks(workspace)
    await admin.open("/")
    (entry,) = await db.rows("SELECT actor, detail FROM audit_entry WHERE action = 'workspace.networks_changed'")
    assert tuple(entry) == ("operator", f"networks: {OFFICE}/32 -> any")


async def test_other_workspaces_are_open(admin, workspace, at):
    from leadwire.domain.accounts import changes

    other = await changes.create_workspace("Other")
    await workspaces.set_networks(other, [HOME], HOME)
    at(OFFICE)
    await admin.open("/")


async def test_a_key_s_networks_on_the_screen(admin, at):
    await admin.open("/keys")
    page = await admin.fill("/keys", 422, name="CRM", scope=["leads:read"], life="", networks="nonsense")
    assert "nonsense is not an address or network" in page
    await admin.fill("/keys", 201, name="CRM", scope=["leads:read"], life="30", networks="203.0.113.0/24, 2001:db8::1")
    page = await admin.open("/keys")
    assert "from 203.0.113.0/24 2001:db8::1/128" in page
    assert "Ends soon" in page
    key = await db.value("SELECT id FROM api_key")
    assert "takes effect within 5 seconds" in await admin.fill(f"/keys/{key}/networks", networks="")
    assert await db.value("SELECT networks FROM api_key") == []
    details = await db.rows("SELECT detail FROM audit_entry WHERE action = 'api_key.networks_changed'")
    assert [row["detail"] for row in details] == ["networks: 203.0.113.0/24 2001:db8::1/128 -> any"]


@pytest.fixture
def chosen(monkeypatch):
    """Sets settings."""

    def choose(**values):
        for name, value in values.items():
            monkeypatch.setenv(f"LEADWIRE_{name}", value)
        settings.get.cache_clear()

    yield choose
    monkeypatch.undo()
    settings.get.cache_clear()


async def test_a_form_offers_no_longer_life_than_the_settings(admin, chosen):
    assert "never</option>" in await admin.open("/keys")
    chosen(KEY_LIFE_DAYS="60")
    page = await admin.open("/keys")
    assert '<option value="30">in 30 days' in page
    assert '<option value="60">in 60 days' in page
    assert "never</option>" not in page
    assert '<option value="90">' not in page
    await admin.fill("/keys", 422, name="CRM", scope=["leads:read"], life="90")
    await admin.fill("/keys", 422, name="CRM", scope=["leads:read"], life="")
    await admin.fill("/keys", 201, name="CRM", scope=["leads:read"], life="60")


async def test_the_addresses_that_we_send_from_are_public_once_they_are_set(stranger, admin, chosen):
    for path in ("/webhooks/addresses", "/webhooks/addresses.json"):
        assert (await stranger.get(path)).status_code == 404
    assert "/webhooks/addresses" not in await admin.open("/webhooks/new")
    chosen(EGRESS_ADDRESSES="192.0.2.10, 198.51.100.0/28, 2001:db8::/48")
    page = await stranger.open("/webhooks/addresses")
    assert all(f"<code>{one}</code>" in page for one in ("192.0.2.10", "198.51.100.0/28", "2001:db8::/48"))
    file = await stranger.get("/webhooks/addresses.json")
    assert file.json() == {"addresses": ["192.0.2.10", "198.51.100.0/28", "2001:db8::/48"]}
    assert "/webhooks/addresses" in await admin.open("/webhooks/new")
