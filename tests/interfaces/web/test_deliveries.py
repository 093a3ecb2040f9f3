"""The list of deliveries: found by an id, at a time, and live without a row that moves."""

import re

import pytest

from leadwire.infrastructure import clock, db
from tests import make
from tests.delivery.wired import endpoint


def listed(page):
    return re.findall(r'href="/deliveries/(evt_\w+)/', page)


@pytest.fixture
async def made(workspace, receiver):
    return await endpoint(workspace, receiver.url)


async def test_an_event_is_found_by_its_id_and_nonsense_is_told(viewer, workspace, bot, wire, receiver, made):
    for _ in range(2):
        lead = await make.somebody(workspace, bot)
    await wire.turn()
    _, second = await receiver.received(2)
    newest = second.webhook_id
    for subject in (newest, lead.id):
        found = set(listed(await viewer.open(f"/deliveries?subject={subject}")))
        assert len(found) == 1
    assert "This is no id" in await viewer.open("/deliveries?subject=ada@example.com")
    assert "This is no id" not in await viewer.open(f"/deliveries?subject=evt_{'0' * 26}")
    other = await db.value("SELECT id FROM event WHERE kind = 'lead.created' ORDER BY id LIMIT 1")
    assert listed(await viewer.open(f"/deliveries?subject={other}&kind=lead.deleted")) == []


async def test_the_next_retry_is_in_the_row(viewer, workspace, bot, wire, receiver, made):
    receiver.answer = 500
    await make.lead(workspace, bot)
    await wire.turn()
    page = await viewer.open("/deliveries")
    assert re.search(r"Retrying</span>\s*<small>next <time", page)


async def test_what_is_newer_than_an_open_list_is_counted_and_not_shown(viewer, workspace, bot, wire, receiver, made):
    await make.somebody(workspace, bot)
    await wire.turn()
    page = await viewer.open("/deliveries")
    before = listed(page)
    again = re.search(r'data-at="([^"]+)"', page)[1]
    assert "New deliveries are announced here" in page
    for _ in range(3):
        await make.somebody(workspace, bot)
    await wire.turn()
    page = await viewer.open(again)
    assert (listed(page), "3 new</a>" in page) == (before, True)
    assert re.search(r'data-at="([^"]+)"', page)[1] == again
    assert len(listed(await viewer.open("/deliveries"))) == 4
    assert "3 new" not in await viewer.open(f"{again}&kind=lead.updated")


async def test_times_are_utc_to_the_minute_in_the_fields(viewer, workspace, bot, wire, receiver, made):
    await make.lead(workspace, bot)
    await wire.turn()
    now = clock.now()
    page = await viewer.open(f"/deliveries?since={now:%Y-%m-%d}T00:00Z&until=2099-01-02T03:04:05.678Z")
    assert f'value="{now:%Y-%m-%d}T00:00"' in page
    assert 'value="2099-01-02T03:04"' in page
    assert len(listed(page)) == 1


async def test_a_viewer_cannot_resend_or_retry_and_an_agent_can(viewer, agent, workspace, bot, wire, receiver, made):
    await make.lead(workspace, bot)
    await wire.turn()
    (first,) = await receiver.received(1)
    place = f"/deliveries/{first.webhook_id}/{made.id}"
    page = await viewer.open(place)
    assert "/redrive" not in page
    await viewer.fill(f"{place}/redrive", 403)
    await viewer.fill(f"{place}/retry", 403)
    assert f'action="{place}/redrive"' in await agent.open(place)
    assert "Returned to the queue." in await agent.fill(f"{place}/redrive")
    await wire.turn()
    assert (await receiver.received(2))[1].webhook_id == first.webhook_id
    await agent.open(place)
    assert "No retry waits for its time any more." in await agent.fill(f"{place}/retry", 409)
    actions = [row["action"] for row in await db.rows("SELECT action FROM audit_entry ORDER BY id")]
    assert "delivery.redriven" in actions


async def test_response_headers_are_shown(viewer, workspace, bot, wire, receiver, made):
    receiver.extra_headers = "X-Trace: <b>abc-1</b>\r\nSet-Cookie: sid=41414141\r\n"
    await make.lead(workspace, bot)
    await wire.turn()
    (first,) = await receiver.received(1)
    page = await viewer.open(f"/deliveries/{first.webhook_id}/{made.id}")
    assert "&lt;b&gt;abc-1&lt;/b&gt;" in page
    assert "(masked)" in page
    assert "41414141" not in page
