"""One delivery's page: what it keeps from whom, and what it is with hundreds of attempts."""

import html
import re

from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db
from tests import make
from tests.delivery.wired import endpoint


async def test_signatures_are_shown_to_admins_alone(agent, viewer, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.turn()
    (delivery,) = await receiver.received(1)
    for one in (agent, viewer):
        page = html.unescape(await one.open(f"/deliveries/{delivery.webhook_id}/{made.id}"))
        assert "(shown to admins)" in page
        assert "curl -X POST" in page
        for name in ("x-service-signature", "webhook-signature"):
            assert delivery.headers[name] not in page


async def test_the_number_is_shown_and_among_the_headers(viewer, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(numbered=True))
    await make.lead(workspace, bot)
    await wire.turn()
    (delivery,) = await receiver.received(1)
    page = html.unescape(await viewer.open(f"/deliveries/{delivery.webhook_id}/{made.id}"))
    assert "· number 1 ·" in page
    assert "-H 'X-Service-Sequence: 1'" in page


async def test_a_pause_is_told_wherever_its_endpoint_is_shown(viewer, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    receiver.answer, receiver.extra_headers = 503, "Retry-After: 600\r\n"
    await make.lead(workspace, bot)
    await wire.turn()
    (delivery,) = await receiver.received(1)
    for path, text in {
        "/webhooks": "paused by its receiver until",
        f"/webhooks/{made.id}": "The receiver asked for a pause (Retry-After). Deliveries wait",
        f"/deliveries/{delivery.webhook_id}/{made.id}": "no attempt counts, until it ends.",
    }.items():
        assert text in await viewer.open(path), path


async def test_a_retry_that_is_due_after_the_pause_is_told_with_its_own_time(viewer, workspace, bot, wire, receiver):
    """Only the end of the pause was shown, which is an hour at most: the retry came 23 hours later than told."""
    made = await endpoint(workspace, receiver.url)
    receiver.answer, receiver.extra_headers = 503, "Retry-After: 86400\r\n"
    await make.lead(workspace, bot)
    await wire.turn()
    (delivery,) = await receiver.received(1)
    page = re.sub(r"<[^>]+>", "", await viewer.open(f"/deliveries/{delivery.webhook_id}/{made.id}"))
    assert re.search(r"It ends in \d+ min\., and this delivery is due in 2\d hr\.", page)


async def test_what_is_late_is_due_now(viewer, workspace, bot, wire, receiver):
    """It was `next 27 min. ago`."""
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 503
    await make.lead(workspace, bot)
    await wire.turn()
    (delivery,) = await receiver.received(1)
    await db.rows("UPDATE delivery SET due_at = now() - interval '27 minutes'")
    for path in (f"/deliveries/{delivery.webhook_id}/{made.id}", f"/webhooks/{made.id}", "/deliveries"):
        page = re.sub(r"<[^>]+>", " ", await viewer.open(path))
        assert re.search(r"(?:next|Due) +now\b", page), path
        assert "27 min. ago" not in page


async def test_why_an_endpoint_is_disabled_is_told_in_words(viewer, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 410
    await make.lead(workspace, bot)
    await wire.turn()
    await receiver.received(1)
    assert "Disabled because its server answered 410 Gone." in await viewer.open(f"/webhooks/{made.id}")


async def test_an_hour_without_attempts_has_no_time_to_answer(viewer, workspace, bot, wire, receiver):
    """It was 0 ms, as if the receiver were quick."""
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.turn()
    await receiver.received(1)
    page = await viewer.open(f"/webhooks/{made.id}")
    assert "<td>0 ms</td>" not in page
    assert "<td>—</td>" in page


async def test_of_many_attempts_the_last_twenty_are_shown(viewer, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.turn()
    (delivery,) = await receiver.received(1)
    columns = "event_id, endpoint_id, generation, counted, duration_ms, outcome, http_status, error"
    await db.rows(
        f"""INSERT INTO attempt ({columns}, number, started_at, response_body)
            SELECT {columns}, n, started_at + n * interval '1 second', $1 FROM attempt, generate_series(2, 300) n""",
        "[" + "1," * 1000 + "1]",
    )
    page = await viewer.open(f"/deliveries/{delivery.webhook_id}/{made.id}")
    assert re.findall(r"#(\d+)[ ,·]", page) == [str(number) for number in range(300, 280, -1)]
    assert "280 earlier attempts are not shown." in page


async def test_what_waits_for_a_disabled_endpoint_is_due_at_no_time(agent, workspace, bot, wire, receiver):
    """It was due in a minute, and “Retry now” said that it was on its way, while nothing is sent."""
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await make.lead(workspace, bot)
    await wire.turn()
    (delivery,) = await receiver.received(1)
    await changes.disable(workspace, made.id)
    page = await agent.open(f"/deliveries/{delivery.webhook_id}/{made.id}")
    assert "<dd>Its endpoint is disabled. It is sent once that is enabled again.</dd>" in page
    assert "Retry now" not in page
    for path in ("/deliveries", f"/webhooks/{made.id}"):
        page = await agent.open(path)
        assert "Retrying" in page
        assert "<small>next " not in page
