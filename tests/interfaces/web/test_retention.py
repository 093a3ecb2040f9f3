"""Retention on the privacy page: set after a preview, with the password, and by name where nothing would stay."""

import re
from urllib.parse import urlencode

import pytest

from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.privacy import reads, retention
from leadwire.infrastructure import db
from tests.domain.privacy.test_retention import ended
from tests.interfaces.web.test_step_up import time_passes

EMPTY = dict.fromkeys(retention.KINDS, "")


async def previewed(browser, status=200, **days):
    return await browser.open(f"/privacy/retention?{urlencode(EMPTY | days)}", status)


def shown(page):
    """The numbers that would go, by the name of the kind."""
    rows = re.findall(r"<tr><th scope=\"row\"><b>([^<]+)</b>.*?Would be deleted now\">(.*?)</td>", page, re.DOTALL)
    return {name: re.sub(r"<[^>]+>", "", count) for name, count in rows}


async def test_what_would_go_is_shown_and_saved_with_the_password(admin, workspace, bot):
    for days in (50, 40, 10):
        await ended(workspace, bot, days)
    await ended(workspace, bot, 60, lead=True)
    await ended(workspace, bot, 5, lead=True)
    page = await previewed(admin, conversations=30, leads=30, messages=45)
    assert shown(page) == {
        "Leads": "1", "Conversations of leads": "—", "Other conversations": "2", "Messages": "of 2 conversations",
        "Contents of events": "—",
    }  # fmt: skip
    assert 'name="confirm"' not in page
    assert await db.value("SELECT count(*) FROM retention") == 0
    await time_passes()
    form = EMPTY | {"conversations": 30, "leads": 30, "messages": 45}
    assert "Confirm it is you" in await admin.fill("/privacy/retention", **form)
    assert await db.value("SELECT count(*) FROM retention") == 0
    await db.rows("UPDATE user_session SET confirmed_at = now()")
    page = await admin.fill("/privacy/retention", **form)
    assert "Saved." in page
    assert re.search(r'name="conversations"[^>]*value="30"', page)
    assert re.search(r'name="lead_conversations"[^>]*value=""', page)
    assert await retention.kept(workspace) == {
        "conversations": 30, "lead_conversations": None, "leads": 30, "messages": 45, "events": None,
    }  # fmt: skip
    details = await db.rows("SELECT detail FROM audit_entry WHERE action = 'retention.changed'")
    assert [row["detail"] for row in details] == ["conversations: kept -> 30; leads: kept -> 30; messages: kept -> 45"]


async def test_where_nothing_would_stay_the_name_of_the_workspace_is_asked_for(admin, workspace, bot):
    await ended(workspace, bot, 50)
    page = await previewed(admin, conversations=30)
    assert "Nothing would be left of: other conversations." in page
    for confirm in ("", "test", "Other"):
        page = await admin.fill("/privacy/retention", 422, **EMPTY | {"conversations": 30}, confirm=confirm)
        assert "Type Test to confirm." in page
    assert await db.value("SELECT count(*) FROM retention") == 0
    await admin.fill("/privacy/retention", **EMPTY | {"conversations": 30}, confirm="Test")
    assert (await retention.kept(workspace))["conversations"] == 30


@pytest.mark.parametrize("days", ["0", "-1", "1000000000", "9" * 30, "a week", "1.5", "\u0663", "<script>"])
async def test_days_that_make_no_sense_are_refused_beside_their_field(admin, days):
    for kind in retention.KINDS:
        page = await previewed(admin, 422, **{kind: days})
        assert f'id="{kind}-fault"' in page
        await admin.fill("/privacy/retention", 422, **EMPTY | {kind: days})
    assert await db.value("SELECT count(*) FROM retention") == 0


async def test_events_are_kept_no_longer_than_the_installation_keeps_them(admin):
    assert "1 to 30 days, or empty." in await previewed(admin, 422, events=31)
    await previewed(admin, events=30)


async def test_what_is_counted_is_bounded_and_the_page_says_so(admin, workspace, bot, monkeypatch):
    monkeypatch.setattr(reads, "COUNTED", 2)
    for days in (50, 49, 48):
        await ended(workspace, bot, days)
        await ended(workspace, bot, days, lead=True)
    page = await previewed(admin, conversations=30, lead_conversations=30, leads=30, messages=30)
    assert set(shown(page).values()) == {"at least 2", "of at least 4 conversations", "—"}


async def test_another_workspace_is_not_counted(admin):
    elsewhere = await accounts.create_workspace("Other")
    await ended(elsewhere, await bots.create(elsewhere, "Theirs"), 50)
    assert shown(await previewed(admin, conversations=30, messages=30))["Other conversations"] == "0"


async def test_nothing_that_was_typed_elsewhere_on_the_page_is_lost_to_the_form(admin, workspace):
    await retention.change(workspace, dict.fromkeys(retention.KINDS) | {"leads": 9})
    await admin.open("/privacy")
    page = await admin.fill("/privacy/erase", 422, email="nobody@example.com", confirm="nobody@example.com")
    assert re.search(r'name="leads"[^>]*value="9"', page)
    page = await previewed(admin, 422, leads="", messages=0)
    assert re.search(r'name="leads"[^>]*value=""', page)
