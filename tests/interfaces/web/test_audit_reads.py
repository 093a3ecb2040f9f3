"""Whoever is shown personal data leaves an entry in the audit log: once for each object and quarter of an hour."""

import asyncio
import re

import pytest

from leadwire.domain.accounts.audit import changes as audit
from leadwire.domain.accounts.sign_in.changes import sessions
from leadwire.domain.conversations import changes as conversations
from leadwire.infrastructure import db
from leadwire.interfaces.web import router
from tests import make
from tests.delivery.wired import endpoint

SECRETS = ("mallory@example.com", "Mallory", "+442079460123", "My dog is ill")
"""What identifies the person, or what they have said."""
SCREENS = sorted(one.path for one in router.DECLARED if "GET" in one.handler.http_methods and "/live" not in one.path)


@pytest.fixture
async def known(workspace, bot, wire, receiver):
    """What the parameters of paths and the query are, of a person and of everything that hangs on them."""
    hook = await endpoint(workspace, receiver.url)
    lead = await make.lead(workspace, bot, email=SECRETS[0], name=SECRETS[1], phone=SECRETS[2])
    await conversations.add_message(workspace, lead.conversation_id, "user", SECRETS[3])
    await wire.turn()
    return {
        "lead_id": lead.id,
        "conversation_id": lead.conversation_id,
        "event_id": await db.value("SELECT id FROM event WHERE kind = 'lead.created'"),
        "endpoint_id": hook.id,
        "bot_id": bot,
    }


async def reads() -> list[tuple[str, str, str]]:
    found = await db.rows("SELECT action, subject, detail FROM audit_entry WHERE action ~ 'read$|listed$' ORDER BY id")
    return [tuple(row) for row in found]


async def test_no_screen_shows_a_person_without_an_entry(admin, known):
    shown = 0
    for path in SCREENS:
        address = re.sub(r"\{(\w+):\w+\}", lambda found: known.get(found[1], "nothing"), path)
        if path == "/inbox":
            address += f"?c={known['conversation_id']}"
        page = (await admin.get(address, follow_redirects=True)).text
        noted = await reads()
        if any(secret in page for secret in SECRETS):
            shown += 1
            assert len(noted) == 1, path
        for key in audit._read:
            audit._read[key] = 0.0  # a quarter of an hour later
        await db.rows("DELETE FROM audit_entry")
    assert shown > 5


async def test_the_screens_that_show_a_person_are_known(admin, known):
    lead, conversation = known["lead_id"], known["conversation_id"]
    delivery = f"/deliveries/{known['event_id']}/{known['endpoint_id']}"
    for path in (f"/leads/{lead}", "/leads", "/conversations", f"/conversations/{conversation}", delivery, "/inbox"):
        await admin.open(path)
        await admin.open(path)
    assert await reads() == [
        ("lead.read", lead, ""),
        ("leads.listed", "", ""),
        ("conversations.listed", "", ""),
        ("conversation.read", conversation, ""),
        ("delivery.read", known["event_id"], ""),
        ("inbox.read", "", ""),
    ]


async def test_a_search_names_its_fields_and_not_what_was_searched_for(admin, known):
    for query in ("q=mallory%40example.com", "q=mallory&score_min=1&sort=score", "q=&score_min=", "q=dog"):
        await admin.open(f"/leads?{query}")
    assert await reads() == [
        ("leads.listed", "", "filters: q"),
        ("leads.listed", "", "filters: q, score_min"),
        ("leads.listed", "", ""),
    ]


@pytest.mark.parametrize("path", ["/leads", "/conversations", "/inbox", "/search"])
async def test_what_an_address_says_besides_is_not_noted(admin, known, path):
    """A link may have anything in it, the log is for good."""
    for other in ("", "&mallory%40example.com=1", "&%00=1", "&utm_source=mail"):
        assert (await admin.get(f"{path}?q=mallory&tag=x{other}")).status_code in (200, 400)
    ((_, _, detail),) = await reads()
    assert detail == ("filters: tag" if path == "/inbox" else "filters: q")


async def test_another_person_and_a_later_time_are_other_reads(admin, agent, known, monkeypatch):
    path = f"/leads/{known['lead_id']}"
    for browser in (admin, agent, admin):
        await browser.open(path)
    assert len(await reads()) == 2
    for key in audit._read:
        audit._read[key] = 0.0
    await admin.open(path)
    assert len(await reads()) == 3


async def test_a_form_that_is_refused_shows_the_person_with_an_entry(agent, known):
    await agent.fill(f"/leads/{known['lead_id']}", 412, email="no address", seen="{}")
    assert await reads() == [("lead.read", known["lead_id"], "")]


async def test_what_cannot_be_noted_is_not_shown(admin, known, monkeypatch):
    async def broken(*_: object, **__: object) -> None:
        raise OSError

    with monkeypatch.context() as patched:
        patched.setattr(audit._ADD, "rows", broken, raising=False)
        answer = await admin.get(f"/leads/{known['lead_id']}")
    assert answer.status_code == 503
    assert not any(secret in answer.text for secret in SECRETS)
    await admin.open(f"/leads/{known['lead_id']}")
    assert len(await reads()) == 1


async def test_who_reads_while_it_is_being_noted_is_shown_nothing_either(admin, monkeypatch):
    begun, fail = asyncio.Event(), asyncio.Event()

    async def broken(*_: object, **__: object) -> None:
        begun.set()
        await fail.wait()
        raise OSError

    ada = await sessions.person(admin.cookies["leadwire"], admin.address)
    monkeypatch.setattr(audit._ADD, "rows", broken, raising=False)
    first = asyncio.create_task(audit.record_read(ada, audit.Entry("lead.read", "lead_1")))
    await begun.wait()
    second = asyncio.create_task(audit.record_read(ada, audit.Entry("lead.read", "lead_1")))
    await asyncio.sleep(0)  # until it waits
    fail.set()
    ends = await asyncio.gather(first, second, return_exceptions=True)
    assert [type(end) for end in ends] == [OSError, OSError]


async def test_nothing_is_noted_of_what_is_not_there(admin, known):
    await admin.open("/leads/lead_00000000000000000000000000", 404)
    assert await reads() == []
