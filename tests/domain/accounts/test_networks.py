"""Allow-lists of addresses, and how long keys may last."""

from datetime import timedelta

import pytest

from leadwire.domain.accounts import changes, networks, reads
from leadwire.infrastructure import clock, db, settings
from leadwire.infrastructure.errors import Invalid, NotFound
from leadwire.interfaces.http import client_network
from tests import make, statements

OFFICE = "198.51.100.0/24"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (["203.0.113.7"], ["203.0.113.7/32"]),
        (["198.51.100.0/24", "198.51.100.0/24", "2001:DB8::/32"], ["198.51.100.0/24", "2001:db8::/32"]),
        (["2001:db8::1"], ["2001:db8::1/128"]),
        (["0.0.0.0/0"], ["0.0.0.0/0"]),
        ([], []),
    ],
)
def test_networks_have_one_form(given, kept):
    assert networks.checked(given) == kept


@pytest.mark.parametrize(
    "wrong",
    ["198.51.100.7/24", "10.0.0.0/33", "300.1.1.1", "example.com", "10.0.0.0/255.0.255.0", "010.0.0.1", "::/129", "*",
     "10.0.0.1-10.0.0.9", "fe80::1%eth0/64", "x" * 5000, "\0"],
)  # fmt: skip
def test_what_is_no_network_is_refused_by_name(wrong):
    with pytest.raises(Invalid) as refused:
        networks.checked([OFFICE, wrong])
    (fault,) = refused.value.errors
    assert (fault.pointer, fault.message.startswith(wrong[:50])) == ("/networks", True)


def test_a_list_has_an_end():
    with pytest.raises(Invalid, match="At most 50"):
        networks.checked(f"10.0.{n}.0/24" for n in range(51))


def test_a_form_holds_them_however_they_are_separated():
    assert networks.split(" 10.0.0.1,10.0.0.2;\n10.0.0.3\r\n\t10.0.0.4 ") == [f"10.0.0.{n}" for n in range(1, 5)]


@pytest.mark.parametrize(
    ("address", "inside"),
    [
        ("198.51.100.7", True),
        ("198.51.101.7", False),
        ("unknown", False),
        ("::ffff:198.51.100.7", True),
        ("::1", False),
    ],
)
def test_who_is_inside(address, inside):
    assert networks.allow(address, [OFFICE]) is inside
    assert networks.allow(address, [])


@pytest.mark.parametrize(
    ("seen", "inside"),
    [
        ("198.51.100.7", True),
        ("198.51.101.7", False),
        ("unknown", False),
        ("2001:db8:1:2::/64", True),
        ("fd00::/64", False),
    ],
)
def test_of_an_ipv6_address_its_network_is_enough_to_stay(seen, inside):
    assert networks.overlap(seen, [OFFICE, "2001:db8:1:2::9/128"]) is inside
    assert networks.overlap(seen, [])


@pytest.fixture
def caller(monkeypatch):
    """Sets the address that requests of the API come from."""

    def come_from(address):
        monkeypatch.setattr(client_network, "_caller", lambda _: client_network._address(address))

    return come_from


async def test_a_key_works_from_its_networks_alone(workspace, anonymous, caller, caplog):
    key_id, key = await changes.create_key(workspace, "CRM", networks=[OFFICE, "2001:db8::9"])
    headers = {"Authorization": f"Bearer {key}"}
    for address, status in (
        ("198.51.100.7", 200), ("198.51.101.7", 403), ("2001:db8::9", 200), ("2001:db8::8", 403), ("", 403),
    ):  # fmt: skip
        caller(address)
        assert (await anonymous.get("/v1/leads", headers=headers)).status_code == status, address
    problem = (await anonymous.get("/v1/leads", headers=headers)).json()
    assert (problem["code"], problem["status"]) == ("address_not_allowed", 403)
    assert key_id in caplog.text or any(key_id in str(vars(record)) for record in caplog.records)
    assert "2001:db8" not in caplog.text


async def test_trying_from_elsewhere_is_limited_and_takes_nothing_of_the_keys_own_rate(
    workspace, anonymous, caller, no_refill
):
    _, key = await changes.create_key(workspace, "CRM", networks=[OFFICE])
    headers = {"Authorization": f"Bearer {key}"}
    caller("203.0.113.200")
    found = [(await anonymous.get("/v1/leads", headers=headers)).status_code for _ in range(61)]
    assert found == [403] * 60 + [429]
    caller("198.51.100.7")
    answer = await anonymous.get("/v1/leads", headers=headers)
    assert answer.status_code == 200
    assert "r=199" in answer.headers["RateLimit"] or "r=5999" in answer.headers["RateLimit"], answer.headers


async def test_it_costs_no_further_query(workspace, bot, anonymous, caller):
    _, key = await changes.create_key(workspace, "CRM", networks=[OFFICE])
    lead = await make.lead(workspace, bot)
    caller("198.51.100.7")
    headers = {"Authorization": f"Bearer {key}"}
    await anonymous.get(f"/v1/leads/{lead.id}", headers=headers)
    with statements.sent() as sent:
        await anonymous.get(f"/v1/leads/{lead.id}", headers=headers)
    assert not any("api_key" in sql for sql, _ in sent)


async def test_the_networks_of_a_key_can_be_changed_and_go_to_its_successor(workspace):
    key_id, _ = await changes.create_key(workspace, "CRM")
    assert await changes.set_key_networks(workspace, key_id, ["203.0.113.7"]) == ([], ["203.0.113.7/32"])
    successor, _ = await changes.roll_key(workspace, key_id, 3600)
    listed = {one.id: one.networks for one in await reads.listed(workspace)}
    assert listed == {key_id: ["203.0.113.7/32"], successor: ["203.0.113.7/32"]}
    with pytest.raises(NotFound):
        await changes.set_key_networks("ws_other", key_id, [])
    with pytest.raises(Invalid):
        await changes.set_key_networks(workspace, key_id, ["nonsense"])
    await changes.revoke_key(workspace, key_id)
    with pytest.raises(NotFound):
        await changes.set_key_networks(workspace, key_id, [])


@pytest.fixture
def ninety_days(monkeypatch):
    monkeypatch.setenv("LEADWIRE_KEY_LIFE_DAYS", "90")
    settings.get.cache_clear()
    yield
    monkeypatch.undo()
    settings.get.cache_clear()


async def test_a_key_lasts_as_long_as_the_settings_allow(workspace, ninety_days):
    for given, days in ((None, 90), (clock.now() + timedelta(days=30), 30), (clock.now() + timedelta(days=90), 90)):
        key_id, _ = await changes.create_key(workspace, "CRM", expires_at=given)
        (made,) = [one for one in await reads.listed(workspace) if one.id == key_id]
        assert abs(clock.parse(made.expires_at) - clock.now() - timedelta(days=days)) < timedelta(minutes=5)
    with pytest.raises(Invalid, match="lasts 90 days at the most"):
        await changes.create_key(workspace, "CRM", expires_at=clock.now() + timedelta(days=91))
    old, _ = await changes.create_key(workspace, "old")
    await db.rows("UPDATE api_key SET expires_at = NULL WHERE id = $1", old)  # made before the setting
    successor, _ = await changes.roll_key(workspace, old, 0)
    assert next(one.expires_at for one in await reads.listed(workspace) if one.id == successor)


async def test_keys_that_last_longer_than_new_ones_may_are_told(workspace, monkeypatch):
    ever, _ = await changes.create_key(workspace, "ever")
    await changes.create_key(workspace, "year", expires_at=clock.now() + timedelta(days=365))
    await changes.create_key(workspace, "soon", expires_at=clock.now() + timedelta(days=60))
    assert await reads.keys_ending() == []
    monkeypatch.setenv("LEADWIRE_KEY_LIFE_DAYS", "90")
    settings.get.cache_clear()
    try:
        assert {one.name for one in await reads.keys_ending()} == {"ever", "year"}
        await changes.revoke_key(workspace, ever)
        assert {one.name for one in await reads.keys_ending()} == {"year"}
    finally:
        monkeypatch.undo()
        settings.get.cache_clear()


async def test_keys_that_end_soon_are_told_in_order(workspace):
    for name, days in (("far", 31), ("near", 29), ("next", 1), ("over", -1)):
        await changes.create_key(workspace, name, expires_at=clock.now() + timedelta(days=days))
    revoked, _ = await changes.create_key(workspace, "revoked", expires_at=clock.now() + timedelta(days=2))
    await changes.revoke_key(workspace, revoked)
    assert [one.name for one in await reads.keys_ending()] == ["next", "near"]
