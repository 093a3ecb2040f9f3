"""Dead letters that are sent again by themselves, on the screen: offered, told, marked in the history, canceled."""

import html

from leadwire.domain.webhooks import changes, redrives
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db
from tests import make
from tests.delivery.test_auto_redrive import die, found, outage, pass_by
from tests.delivery.wired import endpoint, resend


async def test_it_is_offered_where_dead_letters_are_shown(admin, agent, workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 503
    await make.somebody(workspace, bot)
    await die(wire, db_clock)
    for place in ("/deliveries?stage=dead", f"/deliveries?stage=dead&endpoint_id={made.id}"):
        page = await admin.open(place)
        assert f'href="/webhooks/{made.id}/settings">Switch it on for ' in page
        assert "Switch it on" not in await agent.open(place)
    event = await db.value("SELECT event_id FROM every_delivery")
    assert "Nothing by itself" in await admin.open(f"/deliveries/{event}/{made.id}")
    await db.rows("UPDATE delivery_result SET finished_at = $1", clock.ago(hours=1))
    await changes.configure(workspace, made.id, EndpointChange(auto_redrive=True))
    assert "is sent again by itself" in await admin.open("/deliveries?stage=dead")
    assert "Nothing by itself" in await admin.open(f"/deliveries/{event}/{made.id}"), "it died before"


async def test_the_history_and_the_list_say_what_nobody_has_asked_for(admin, workspace, bot, wire, receiver, db_clock):
    made = await outage(workspace, bot, wire, receiver, db_clock, 3)
    await db_clock.forward(1)  # no two attempts of a delivery begin at one time
    await found()
    await wire.turn()
    first, second, third = [
        row["event_id"] for row in await db.rows("SELECT event_id FROM every_delivery ORDER BY event_id")
    ]
    page = await admin.open(f"/deliveries/{first}/{made}")
    assert "It is sent again by itself, once your server answers" in page
    assert "#5, by itself" in page
    await db_clock.forward(1)
    await resend(workspace, third, made)
    receiver.answer = 204
    await wire.turn()
    await pass_by(wire, db_clock, 60)
    page = html.unescape(await admin.open(f"/deliveries/{second}/{made}"))
    assert "#1, sent again 1, by itself" in page
    page = await admin.open(f"/deliveries/{third}/{made}")
    assert "#1, sent again 1 ·" in page
    (job,) = (one for one in await redrives.listed(workspace) if one.died_since)
    assert ", by itself" in await admin.open("/deliveries?stage=dead")
    assert "by itself: the endpoint answered" in await admin.open(f"/redrives/{job.id}")
