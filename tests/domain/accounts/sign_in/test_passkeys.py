"""Passkeys: what is accepted of a device, and every lie that is not. In a real browser: `tests/browser`."""

import json
from datetime import timedelta

import pytest
from msgspec import structs

from leadwire.domain.accounts.sign_in.changes import passkeys, second_factor, sessions
from leadwire.domain.accounts.sign_in.changes.passkeys import Answer, Site
from leadwire.domain.accounts.sign_in.changes.sessions import Browser
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound
from tests.domain.accounts.sign_in.device import PRESENT, VERIFIED, Device, raw, text
from tests.interfaces.web.conftest import admin, agent  # noqa: F401 - fixtures

SITE = Site("https://leads.example")
EMBEDDED = [{"client": {"crossOrigin": True}}, {"client": {"crossOrigin": False, "topOrigin": "https://evil.example"}}]
"""The page was in a frame of another site."""


async def person(browser):
    return await sessions.person(browser.cookies["leadwire"], "192.0.2.1")


async def added(who, name="Laptop", device=None):
    """A device whose passkey the person has added."""
    device = device or Device(SITE.origin)
    options, ticket = await passkeys.creation_options(who, SITE)
    await passkeys.add(who, name, Answer(SITE, ticket, device.make(options)))
    return device


@pytest.fixture
async def ada(admin):  # noqa: F811
    return await person(admin)


@pytest.fixture
async def device(ada):
    return await added(ada)


async def owner(device, **lies):
    options, ticket = passkeys.request_options(SITE)
    for name, value in lies.items():
        setattr(device, name, value)
    return await passkeys.owner(Answer(SITE, ticket, device.answer(options)))


async def test_its_owner_is_known_by_it_again_and_again(ada, device):
    for said in ({}, {"crossOrigin": False}):
        assert await owner(device, client=said) == ada.user_id
    assert await db.value("SELECT last_used_at IS NOT NULL FROM passkey")


async def test_what_the_browser_is_asked_for(ada, device):
    asked = json.loads((await passkeys.creation_options(ada, SITE))[0])
    assert asked["rp"]["id"] == "leads.example"
    assert asked["authenticatorSelection"]["residentKey"] == "required"
    assert asked["authenticatorSelection"]["userVerification"] == "required"
    assert asked["excludeCredentials"] == [{"id": text(device.id), "transports": ["internal"], "type": "public-key"}]
    asked = json.loads(passkeys.request_options(SITE)[0])
    assert (asked["rpId"], asked["userVerification"]) == ("leads.example", "required")


@pytest.mark.parametrize(
    "lie",
    [
        {"origin": "https://evil.example"},
        {"origin": "http://leads.example"},
        {"origin": "https://leads.example:444"},
        {"host": "evil.example"},
        {"flags": PRESENT},
        {"flags": VERIFIED},
        {"user": b"user_of_somebody_else"},
        {"user": b""},
        {"id": b"another credential"},
        *EMBEDDED,
    ],
    ids=str,
)
async def test_a_lie_is_refused(ada, device, lie):
    with pytest.raises(Invalid, match="not accepted"):
        await owner(device, **lie)
    assert await db.value("SELECT last_used_at IS NULL FROM passkey")


async def test_another_key_is_refused(ada, device):
    device._key = Device(SITE.origin)._key
    with pytest.raises(Invalid, match="not accepted"):
        await owner(device)


async def test_a_challenge_counts_once_and_none_that_is_older_than_the_last_use(ada, device):
    (early, early_ticket), (options, ticket) = passkeys.request_options(SITE), passkeys.request_options(SITE)
    answer = Answer(SITE, ticket, device.answer(options))
    assert await passkeys.owner(answer) == ada.user_id
    for replayed in (answer, Answer(SITE, early_ticket, device.answer(early))):
        with pytest.raises(Invalid, match="not accepted"):
            await passkeys.owner(replayed)


async def test_a_challenge_is_of_its_browser_its_purpose_and_five_minutes(ada, device, monkeypatch):
    options, ticket = passkeys.request_options(SITE)
    answered, creation = device.answer(options), (await passkeys.creation_options(ada, SITE))[1]
    for other in ("", "00", passkeys.request_options(SITE)[1], creation, second_factor.ticket(ada.user_id, "hash")):
        with pytest.raises(Invalid, match="not accepted"):
            await passkeys.owner(Answer(SITE, other, answered))
    with pytest.raises(Invalid, match="not accepted"):
        await passkeys.owner(Answer(SITE, ticket, device.answer(options, "webauthn.create")))
    later = clock.now() + timedelta(seconds=passkeys.PATIENCE + 1)
    with monkeypatch.context() as patch:
        patch.setattr(clock, "now", lambda: later)
        with pytest.raises(Invalid, match="not accepted"):
            await passkeys.owner(Answer(SITE, ticket, answered))
    assert await passkeys.owner(Answer(SITE, ticket, answered)) == ada.user_id


async def test_a_count_that_goes_back_is_refused_and_logged(ada, device, caplog):
    assert await owner(device, count=7) == ada.user_id
    for count in (7, 3, 0):
        with pytest.raises(Invalid, match="not accepted"):
            await owner(device, count=count)
    told = [one.fields for one in caplog.records if one.getMessage() == "passkey.count_went_back"]
    assert [(one["was"], one["now"]) for one in told] == [(7, 7), (7, 3), (7, 0)]
    assert await owner(device, count=8) == ada.user_id


@pytest.mark.parametrize(
    "odd",
    [
        "",
        "{}",
        "null",
        "[]",
        '"x"',
        "{",
        "[" * 16_000,
        "x" * 20_000,
        "\ud800",
        '{"id": 1}',
        '{"id": "é", "rawId": "é"}',
    ],
    ids=range(11),
)
async def test_what_is_no_answer_is_refused(ada, device, odd):
    for ticket, taken in (
        (passkeys.request_options(SITE)[1], passkeys.owner),
        ((await passkeys.creation_options(ada, SITE))[1], lambda answer: passkeys.add(ada, "Odd", answer)),
    ):
        with pytest.raises(Invalid, match="not accepted"):
            await taken(Answer(SITE, ticket, odd))


async def test_an_answer_with_a_part_spoiled_is_refused(ada, device):
    """Each part of what devices send: left out, of another type, cut, or changed."""
    for spoiled in ("rawId", "id", "type", "response"):
        for value in (None, 5, "", "AA", [], {}):
            options, ticket = passkeys.request_options(SITE)
            answer = {**json.loads(device.answer(options)), spoiled: value}
            with pytest.raises(Invalid):
                await passkeys.owner(Answer(SITE, ticket, json.dumps(answer)))
    for spoiled in ("clientDataJSON", "authenticatorData", "signature", "attestationObject"):
        for change in (None, 5, "", "AA", "=", "cut", "flip"):
            options, ticket = passkeys.request_options(SITE)
            creation, creation_ticket = await passkeys.creation_options(ada, SITE)
            for taken, given, sent in (
                (passkeys.owner, ticket, device.answer(options)),
                (lambda answer: passkeys.add(ada, "Odd", answer), creation_ticket, Device(SITE.origin).make(creation)),
            ):
                answer = json.loads(sent)
                if (whole := answer["response"].get(spoiled)) is None:
                    continue
                bits = raw(whole)
                changed = {"cut": text(bits[:-9]), "flip": text(bits[:5] + bytes([bits[5] ^ 1]) + bits[6:])}
                answer["response"][spoiled] = changed.get(change, change)
                with pytest.raises(Invalid):
                    await taken(Answer(SITE, given, json.dumps(answer)))
    assert await db.value("SELECT count(*) FROM passkey") == 1


async def test_a_new_one_is_made_for_who_asked_and_once(ada, agent):  # noqa: F811
    grace = await person(agent)
    options, ticket = await passkeys.creation_options(ada, SITE)
    answer = Answer(SITE, ticket, Device(SITE.origin).make(options))
    with pytest.raises(Invalid, match="not accepted"):
        await passkeys.add(grace, "Mine", answer)
    for name in ("", "x" * 101):
        with pytest.raises(Invalid):
            await passkeys.add(ada, name, answer)
    await passkeys.add(ada, "Key ring", answer)
    with pytest.raises(Conflict, match="here already"):
        await passkeys.add(ada, "Again", answer)
    entry = await db.row("SELECT actor, detail FROM audit_entry WHERE action LIKE 'passkey%'")
    assert tuple(entry) == ("ada@example.org", "Key ring")


@pytest.mark.parametrize(
    "lie", [{"origin": "https://evil.example"}, {"host": "evil.example"}, {"flags": PRESENT}, *EMBEDDED], ids=str
)
async def test_a_new_one_that_lies_is_refused(ada, lie):
    device = Device(SITE.origin)
    for name, value in lie.items():
        setattr(device, name, value)
    with pytest.raises(Invalid, match="not accepted"):
        await added(ada, device=device)
    assert await db.value("SELECT count(*) FROM passkey") == 0


async def test_who_came_through_a_provider_makes_none(ada):
    with pytest.raises(Conflict, match="through a provider"):
        await passkeys.creation_options(structs.replace(ada, provider="idp_1"), SITE)


async def test_a_person_has_twenty_at_most(ada):
    for number in range(passkeys._MOST):
        await added(ada, f"Key {number}")
    with pytest.raises(Conflict, match="at most 20"):
        await added(ada)


async def test_one_that_is_removed_opens_nothing_and_only_its_owner_removes_it(ada, agent, device):  # noqa: F811
    passkey = await db.value("SELECT id FROM passkey")
    with pytest.raises(NotFound):
        await passkeys.remove((await person(agent)).user_id, passkey)
    assert await passkeys.remove(ada.user_id, passkey) == "Laptop"
    with pytest.raises(Invalid, match="not accepted"):
        await owner(device)


async def test_adding_one_ends_sessions_elsewhere(ada, device):
    assert await db.value("SELECT count(*) FROM user_session") == 1
    await sessions.begin(ada.user_id, Browser("192.0.2.1"))
    await added(ada, "Second")
    assert [row["id"] for row in await db.rows("SELECT id FROM user_session")] == [ada.session_id]
