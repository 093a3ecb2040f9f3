"""The catalog of events, what a subscription would have been sent, and thirty days of an endpoint."""

import html
import re
from datetime import timedelta

import pytest

from leadwire.delivery.envelope import EVERY_KIND
from leadwire.delivery.worker import hourly_stats
from leadwire.domain.webhooks import changes, preview, samples, stats
from leadwire.infrastructure import clock, db
from tests import make
from tests.delivery.wired import endpoint


def test_every_kind_is_in_the_catalog_once():
    kinds = [one.kind for group in samples.GROUPS.values() for one in group]
    assert sorted(kinds) == sorted(EVERY_KIND)
    assert all(one.title and one.about and one.data for group in samples.GROUPS.values() for one in group)


@pytest.mark.parametrize(
    ("missing", "told"),
    [
        ((), ["all events"]),
        (("audit.recorded",), ["Leads", "Conversations", "Messages", "Webhooks"]),
        (("audit.recorded", "lead.deleted", "endpoint.failing"), ["Conversations", "Messages"]),
    ],
)
def test_only_who_has_every_kind_has_all_events(missing, told):
    kinds = [kind for kind in EVERY_KIND if kind not in missing]
    tags = samples.briefly(kinds)
    assert tags[: len(told)] == told
    assert len(tags) == 1 or not {"all events", *missing} & set(tags)
    groups = {name: [one.kind for one in group] for name, group in samples.GROUPS.items()}
    assert tags == ["all events"] or sorted(kind for tag in tags for kind in groups.get(tag, [tag])) == sorted(kinds)


async def test_an_endpoint_shows_what_it_subscribes_to(viewer, workspace):
    await changes.create(workspace, "https://crm.example/hook", ["lead.deleted", "message.sent", "message.received"])
    assert '<span class="tag">Messages</span><span class="tag">lead.deleted</span>' in await viewer.open("/webhooks")


async def test_endpoints_lead_to_the_catalog(viewer):
    assert 'href="/docs/event-catalog"' in await viewer.open("/webhooks")
    page = await viewer.open("/docs/event-catalog")
    assert all(f"<code>{kind}</code>" in page for kind in EVERY_KIND)


async def test_what_would_have_been_sent_is_counted_with_examples(admin, workspace, bot):
    for _ in range(5):
        await make.somebody(workspace, bot)
    kinds = ["lead.created", "lead.deleted"]
    day = await preview.of(workspace, kinds, 24)
    assert day.counts == {"lead.created": 5, "lead.deleted": 0}
    with clock.at(clock.now() + timedelta(days=3)):
        assert (await preview.of(workspace, kinds, 24)).total == 0
        assert (await preview.of(workspace, kinds, 168)).total == 5
        assert await preview.counts(workspace, kinds, 168) == {"lead.created": 5, "lead.deleted": 0}
    assert {one.kind for one in day.examples} == {"lead.created"}
    assert len(day.examples) == 3
    assert (await preview.of("ws_other", kinds, 24)).total == 0
    made = await changes.create(workspace, "https://example.com/hooks", ["lead.created"])
    page = await admin.open(f"/webhooks/{made.id}/setup/enable")
    assert "<dd>5</dd>" in page
    assert "<dd>5</dd>" in await admin.open(f"/webhooks/{made.id}/setup/enable?hours=168")
    read = await db.rows("SELECT action, subject FROM audit_entry WHERE action = 'delivery.read'")
    assert [row["subject"] for row in read] == [made.id]


@pytest.fixture
async def made(workspace, receiver):
    return await endpoint(workspace, receiver.url)


async def test_thirty_days_count_first_attempts(viewer, workspace, made):
    now = clock.now().replace(minute=0, second=0, microsecond=0)
    took = [0, 0, 0, 10, *[0] * 9]
    for days, hour in ((0, (8, 2, 7, 1)), (1, (5, 5, 0, 0))):
        await db.rows(
            """INSERT INTO endpoint_hour (endpoint_id, hour, delivered, failed, first_delivered, first_failed, took,
                last_at, last_outcome) VALUES ($1, $2, $3, $4, $5, $6, $7, $2, 'delivered')""",
            made.id, now - timedelta(days=days), *hour, took,
        )  # fmt: skip
    found = await stats.by_day(workspace, made.id)
    assert len(found) == 30
    assert [(one.delivered, one.failed, one.share) for one in found[-3:]] == [(0, 0, None), (5, 5, 0.5), (7, 1, 0.875)]
    assert all(one.delivered == 0 for one in await stats.by_day("ws_other", made.id))
    page = await viewer.open(f"/webhooks/{made.id}")
    assert f"{now:%d %b}: 87.50 % of 8, 95 % answered within" in page


async def test_first_attempts_are_counted_by_the_worker(workspace, bot, wire, receiver, made):
    receiver.answer = 500
    await make.lead(workspace, bot)
    await wire.turn()
    receiver.answer = 204
    await db.rows("UPDATE delivery SET due_at = now()")
    await db.rows("UPDATE webhook_endpoint SET due_at = now()")
    await wire.turn()
    await hourly_stats.flush()
    rows = await db.rows("SELECT delivered, failed, first_delivered, first_failed FROM endpoint_hour")
    assert [tuple(row) for row in rows] == [(1, 1, 0, 1)]


async def test_the_first_live_event_is_shown_after_enabling(admin, workspace, bot, wire, receiver, made):
    await changes.send_test(workspace, made.id)
    await wire.turn()
    assert "Waiting for the first event" in await admin.open(f"/webhooks/{made.id}?first=1")
    await make.lead(workspace, bot)
    await wire.turn()
    assert "The first event is here" in await admin.open(f"/webhooks/{made.id}?first=1")
    assert "The first event is here" not in await admin.open(f"/webhooks/{made.id}")


async def test_a_first_event_that_fails_is_held_and_told_in_red_with_its_reason(
    admin, workspace, bot, wire, receiver, made
):
    receiver.answer = 500
    await make.lead(workspace, bot)
    await wire.turn()
    page = await admin.open(f"/webhooks/{made.id}?first=1")
    notice = r'<p class="notice bad" role="status">.+The first event did not arrive: <a href="/deliveries/(evt_\w+)/'
    first = re.search(notice, page)[1]
    assert "Your server returned an error (500)" in page
    await make.lead(workspace, bot)
    await wire.turn()
    at = html.unescape(re.search(r'data-at="([^"]+)"', page)[1])
    assert at == f"/webhooks/{made.id}?first={first}"
    assert re.search(notice, await admin.open(at))[1] == first
