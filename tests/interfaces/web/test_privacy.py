"""Forgetting a person by their e-mail address."""

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.infrastructure import db
from tests import make


async def leads() -> int:
    return await db.value("SELECT count(*) FROM lead")


async def test_everything_with_the_address_goes_and_nothing_else(admin, workspace, bot):
    other = await bots.create(workspace, "Other")
    for each in (bot, other):
        await make.lead(workspace, each, email="Ada@Example.com")
    kept = await make.lead(workspace, bot, email="bo@example.com")
    await admin.open("/privacy")
    page = await admin.fill("/privacy/erase", email="ada@example.com", confirm="ADA@example.com")
    assert "Erased: 2 leads." in page
    assert await db.value("SELECT id FROM lead") == kept.id
    assert (await make.kinds()).count("lead.deleted") == 2
    texts = await db.rows("SELECT detail || subject AS text FROM audit_entry WHERE action = 'person.erased'")
    assert len(texts) == 1
    assert "ada@" not in texts[0]["text"].lower()


@pytest.mark.parametrize(
    ("email", "confirm"),
    [("ada@example.com", ""), ("ada@example.com", "ada@example.org"), ("", ""), ("%", "%"), ("eve@x.org", "eve@x.org")],
)
async def test_nothing_goes_without_the_address_typed_twice(admin, workspace, bot, email, confirm):
    await make.lead(workspace, bot)
    await admin.open("/privacy")
    await admin.fill("/privacy/erase", 422, email=email, confirm=confirm)
    assert await leads() == 1
    assert await db.value("SELECT count(*) FROM audit_entry WHERE action = 'person.erased'") == 0


async def test_another_workspace_s_person_stays(admin):
    elsewhere = await accounts.create_workspace("Other")
    await make.lead(elsewhere, await bots.create(elsewhere, "Theirs"))
    await admin.open("/privacy")
    await admin.fill("/privacy/erase", 422, email="ada@example.com", confirm="ada@example.com")
    assert await leads() == 1


async def test_how_long_events_are_kept_is_told(admin):
    assert "<b>30 days</b>" in await admin.open("/privacy")
