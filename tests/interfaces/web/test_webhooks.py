"""Endpoints, their setup, deliveries and dead letters on the screen."""

import re

import pytest
from msgspec import structs

from leadwire.delivery.endpoints import changes as rows
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.worker import hourly_stats
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.conversations.schema import Origin
from leadwire.domain.webhooks import changes, history, reads, receivers, signing_keys, stats
from leadwire.domain.webhooks.samples import SAMPLES
from leadwire.domain.webhooks.schema import PUBLISHED_BEFORE, EndpointChange
from leadwire.infrastructure import clock, db, settings
from tests import jobs, make
from tests.delivery.wired import endpoint


async def only(sql: str) -> str:
    return str(await db.value(sql))


async def test_the_five_steps(admin, wire, receiver):
    assert "Enter an HTTPS address" in await admin.open("/webhooks")
    assert "cannot be used" in await admin.open("/webhooks/new?url=http%3A%2F%2F10.0.0.1%2F&next=1")
    page = await admin.open(f"/webhooks/new?url={receiver.url}&next=1")
    assert "Which events should it receive?" in page
    assert all(kind in page for kind in SAMPLES)
    assert "Subscribe to at least one" in await admin.fill("/webhooks/new/events", 422, url=receiver.url)
    page = await admin.fill("/webhooks/new/events", url=receiver.url, event=["lead.created"])
    secret = re.search(r"whsec_[\w+/=]+", page)[0]
    made = await only("SELECT id FROM webhook_endpoint")
    assert await db.value("SELECT enabled FROM webhook_endpoint") is False

    page = await admin.fill(f"/webhooks/{made}/test", on="setup", kind="lead.created")
    assert "On its way" in page
    await wire.turn()
    (delivery,) = await receiver.received(1)
    event = delivery.webhook_id
    page = await admin.open(f"/webhooks/{made}/setup/test?test={event}")
    assert "It works" in page
    assert "X-Service-Test: true" in page

    await admin.open(f"/webhooks/{made}/setup/enable")
    assert "Enabled. Events flow" in await admin.fill(f"/webhooks/{made}/enable")
    assert secret not in await admin.open(f"/webhooks/{made}")
    assert secret in await admin.open(f"/webhooks/{made}/secret")


async def test_a_new_host_is_told_of_until_it_answers(admin, workspace, bot, wire, receiver, monkeypatch):
    chosen = structs.replace(settings.get(), new_host_rate=45)
    monkeypatch.setattr(settings, "get", lambda: chosen)
    monkeypatch.setattr(rows, "is_strangers", lambda _: True)
    made = await changes.create(workspace, receiver.url, ["lead.created"])
    assert "This host is new" not in await admin.open(f"/webhooks/{made.id}"), "nothing is sent to it"
    await changes.enable(workspace, made.id)
    page = await admin.open(f"/webhooks/{made.id}")
    assert "This host is new: until it answers with a 2xx, it gets at most 45 deliveries a minute" in page
    await make.lead(workspace, bot)
    await wire.turn()
    assert "This host is new" not in await admin.open(f"/webhooks/{made.id}")


async def test_a_failing_endpoint_is_followed_to_its_dead_letter_and_redriven(
    admin, workspace, bot, wire, receiver, db_clock
):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await make.lead(workspace, bot)
    for seconds in (0, 61, 301, 1801):
        await db_clock.forward(seconds)
        await wire.turn()
    page = await admin.open(f"/webhooks/{made.id}?stage=dead")
    assert "Dead letter" in page
    event = re.search(rf"/deliveries/(evt_\w+)/{made.id}", page)[1]
    page = await admin.open(f"/deliveries/{event}/{made.id}")
    assert "Your server returned an error (500)" in page
    assert page.count('<span class="status bad">500</span>') == 4
    assert "Nothing by itself. Fix the cause, then send it again." in page

    page = await admin.open("/deliveries?stage=dead&outcome=http_5xx")
    assert "<b>1</b> delivery matches" in page
    assert "required> Make 1 request</label>" in page
    assert '<option value="http_5xx" selected>HTTP 5xx</option>' in page
    await admin.fill("/deliveries/redrive", 422, stage="dead", per_second="10")
    receiver.answer = 204
    page = await admin.fill("/deliveries/redrive", stage="dead", per_second="10", sure="yes", outcome="http_5xx")
    assert "0 of 1 returned to the queue" in page
    await admin.fill(f"/deliveries/{event}/{made.id}/redrive")
    await db_clock.forward(1)
    await wire.turn()
    page = await admin.open(f"/deliveries/{event}/{made.id}")
    assert "Nothing: it has arrived" in page
    assert "sent again 1" in page
    assert "No dead letters" in await admin.open("/deliveries?stage=dead")


async def test_the_delivery_page_shows_what_was_sent_and_how_to_check_it(admin, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot, name="<script>alert(1)</script>")
    await wire.turn()
    (delivery,) = await receiver.received(1)
    page = await admin.open(f"/deliveries/{delivery.webhook_id}/{made.id}")
    assert delivery.headers["x-service-signature"] in page
    assert delivery.headers["webhook-signature"].replace("+", "&#43;").replace("&#43;", "+") in page
    assert "curl -X POST" in page
    assert "openssl dgst" in page
    assert "<script>alert" not in page
    for hop in ("Recorded to queued", "Queued to sent", "Sent to answered", "Answered to recorded"):
        assert hop in page


async def test_an_erased_delivery_says_so(admin, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    lead = await make.lead(workspace, bot)
    await wire.turn()
    (delivery,) = await receiver.received(1)
    from leadwire.domain.privacy import erasure

    await erasure.erase_lead(workspace, lead.id)
    page = await admin.open(f"/deliveries/{delivery.webhook_id}/{made.id}")
    assert "Erased together with the person" in page
    assert "ada@example.com" not in page


async def test_settings_are_those_of_the_domain(admin, workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    await admin.open(f"/webhooks/{made.id}")
    form = {"url": receiver.url, "event": ["lead.deleted"], "ordered": "on", "numbered": "on", "rate_limit": "60"}
    form |= {"auto_redrive": "on", "boxes": "event lead.created lead.deleted ordered numbered auto_redrive"}
    await admin.fill(f"/webhooks/{made.id}/settings", **form)
    await admin.fill(f"/webhooks/{made.id}/headers", headers="X-Token: sesame-77\nX-Other: d: e")
    kept = await changes.reads.endpoint(workspace, made.id)
    assert (kept.events, kept.ordered, kept.numbered, kept.auto_redrive, kept.rate_limit, kept.headers) == (
        ["lead.deleted"],
        True,
        True,
        True,
        60,
        ["X-Token", "X-Other"],
    )
    await changes.configure(workspace, made.id, EndpointChange(events=["lead.deleted", "message.sent"]))
    old = {"url": receiver.url, "event": ["lead.created"], "boxes": ["event lead.created lead.deleted", "ordered"]}
    await admin.fill(f"/webhooks/{made.id}/settings", **old)
    kept = await changes.reads.endpoint(workspace, made.id)
    assert kept.events == ["lead.created", "message.sent"]
    await admin.fill(f"/webhooks/{made.id}/settings", url=receiver.url, event="lead.created", boxes="ordered")
    assert (await changes.reads.endpoint(workspace, made.id)).events == ["lead.created"], "a page that lists no events"
    assert (kept.ordered, kept.numbered, kept.auto_redrive, kept.rate_limit) == (False, True, True, 60), (
        "what a form from before an upgrade lacks is as it was"
    )
    page = await admin.fill(f"/webhooks/{made.id}/settings", 422, **{**form, "rate_limit": "0"})
    assert "A rate is 1 to 60000" in page
    assert "is not `Name: value`" in await admin.fill(f"/webhooks/{made.id}/headers", 422, headers="nonsense")
    assert "A name is given twice" in await admin.fill(f"/webhooks/{made.id}/headers", 422, headers="X-A: b\nX-A: c")
    assert "sesame-77" not in await admin.open(f"/webhooks/{made.id}")


async def test_a_receiver_that_fetches_is_set_up(admin, workspace, wire):
    assert "letters" in await admin.open("/webhooks/new?name=No+Name&next=1")
    await admin.open("/webhooks/new?name=crm&next=1")
    page = await admin.fill("/webhooks/new/events", url="pull:crm", event=["lead.created"])
    assert "python -m leadwire_client http" in page
    (made,) = await changes.reads.endpoints(workspace)
    assert (made.url, made.enabled) == ("pull:crm", False)
    await admin.fill(f"/webhooks/{made.id}/test", on="setup", kind="lead.created")
    await wire.turn()
    fetcher = receivers.Receiver(made.id, workspace)
    batch = await receivers.fetch(fetcher, 1)
    event = batch.deliveries[0].headers["webhook-id"]
    await receivers.acknowledge(fetcher, batch.lease, [event])
    assert "It works" in await admin.open(f"/webhooks/{made.id}/setup/test?test={event}")
    page = await admin.open(f"/deliveries/{event}/{made.id}")
    assert "Nothing: it has arrived" in page
    assert "Copy as curl" not in page


async def test_the_way_is_chosen_in_the_settings(admin, workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    await admin.open(f"/webhooks/{made.id}")
    form = {"event": ["lead.created"], "way": "fetch"}
    for url in (receiver.url, "pull:127.0.0.1"):
        page = await admin.fill(f"/webhooks/{made.id}/settings", url=url, **form)
        assert (await changes.reads.endpoint(workspace, made.id)).url == "pull:127.0.0.1"
    assert re.search(r'value="fetch" checked', page)
    assert "pull: and a name of" in await admin.fill(f"/webhooks/{made.id}/settings", 422, url="https://[", **form)
    form["way"] = "send"
    page = await admin.fill(f"/webhooks/{made.id}/settings", 422, url="pull:127.0.0.1", **form)
    assert "Enter the address that receives POST requests" in page
    page = await admin.fill(f"/webhooks/{made.id}/settings", url=receiver.url, **form)
    assert re.search(r'value="send" checked', page)
    assert (await changes.reads.endpoint(workspace, made.id)).url == receiver.url


async def test_the_receivers_token_is_shown_once(admin, workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    assert "Make a token" in await admin.open(f"/webhooks/{made.id}/settings")
    page = await admin.fill(f"/webhooks/{made.id}/token", 201)
    token = re.search(r"lwr_\w+", page)[0]
    assert await receivers.authenticate(token) == receivers.Receiver(made.id, workspace)
    page = await admin.open(f"/webhooks/{made.id}/settings")
    assert "Replace the token" in page
    assert token not in page
    noted = await db.row("SELECT action, subject, detail FROM audit_entry WHERE action LIKE '%token%'")
    assert tuple(noted) == ("endpoint.token_created", made.id, "")


async def test_a_first_event_is_shown_before_its_first_attempt(admin, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url, "lead.created")
    await make.lead(workspace, bot)
    await wire.relay()
    page = await admin.open(f"/webhooks/{made.id}?first={await only('SELECT event_id FROM every_delivery')}")
    assert "The first event is on its way" in page


async def test_what_was_discarded_before_it_was_sent_is_told_so(admin, workspace, bot, receiver):
    made = await endpoint(workspace, receiver.url, "conversation.started")
    await conversations.start(workspace, bot, Origin())
    await fan_out()
    await changes.discard(workspace, made.id)
    assert await jobs.discard() == 1
    event = await only("SELECT event_id FROM every_delivery WHERE state = 'cancelled'")
    for screen in ("/setup/test", ""):
        assert "It was discarded before it was sent" in await admin.open(f"/webhooks/{made.id}{screen}?test={event}")
    assert "did not arrive" in await admin.open(f"/webhooks/{made.id}?first={event}")


async def test_what_waits_is_discarded_after_a_question(admin, workspace, bot, receiver):
    made = await endpoint(workspace, receiver.url, "conversation.started")
    assert "/discard" not in await admin.open(f"/webhooks/{made.id}")
    await conversations.start(workspace, bot, Origin())
    await fan_out()
    assert "Discard what waits (1)" in await admin.open(f"/webhooks/{made.id}")
    await admin.fill(f"/webhooks/{made.id}/discard")
    assert await jobs.discard() == 1
    assert "/discard" not in await admin.open(f"/webhooks/{made.id}")
    noted = await db.row("SELECT subject, detail FROM audit_entry WHERE action = 'endpoint.discarded'")
    assert tuple(noted) == (made.id, "waiting: 1 -> 0")


async def test_a_secret_is_rotated_on_the_screen(admin, workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    await admin.open(f"/webhooks/{made.id}/secret")
    staged = set(re.findall(r"whsec_[\w+/=]{40,}", await admin.fill(f"/webhooks/{made.id}/secret/stage"))) - {
        made.secret
    }
    page = await admin.fill(f"/webhooks/{made.id}/secret/promote")
    assert staged == set(re.findall(r"whsec_[\w+/=]{40,}", page))
    seen = "SELECT count(*) FROM audit_entry WHERE action = 'endpoint.secret_seen'"
    assert await db.value(seen) == 3


async def test_a_key_is_switched_on_and_replaced_on_the_screen(admin, workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    address = f"/.well-known/leadwire/{made.id}/jwks.json"
    form = {"url": receiver.url, "event": "lead.created", "boxes": "ed25519"}
    assert "jwks.json" not in await admin.open(f"/webhooks/{made.id}/settings")
    assert "Public keys" not in await admin.open(f"/webhooks/{made.id}/secret")
    assert address in await admin.fill(f"/webhooks/{made.id}/settings", **form, ed25519="on")
    page = await admin.open(f"/webhooks/{made.id}/secret")
    (present,) = re.findall(r"whpk_[\w+/=]{44}", page)
    assert address in page
    assert "verified_by_key" in page
    page = await admin.fill(f"/webhooks/{made.id}/secret/stage-key")
    (_, staged) = re.findall(r"whpk_[\w+/=]{44}", page)
    page = await admin.fill(f"/webhooks/{made.id}/secret/promote-key", 409)
    assert "Receivers may not have the next key before" in page
    with clock.at(clock.now() + PUBLISHED_BEFORE):
        await signing_keys.promote(workspace, made.id)
    assert re.findall(r"whpk_[\w+/=]{44}", await admin.open(f"/webhooks/{made.id}/secret")) == [present, staged]
    assert re.findall(r"whpk_[\w+/=]{44}", await admin.fill(f"/webhooks/{made.id}/secret/discard-key")) == [staged]
    noted = await db.rows("SELECT action FROM audit_entry WHERE action LIKE 'endpoint.key%' ORDER BY id")
    assert [one["action"] for one in noted] == ["endpoint.key_staged", "endpoint.keys_discarded"]
    assert "jwks.json" not in await admin.fill(f"/webhooks/{made.id}/settings", **form)
    assert (await reads.endpoint(workspace, made.id)).public_keys == []


async def test_another_workspace_s_endpoints_are_not_there(admin, wire, bot):
    other = await accounts.create_workspace("Other")
    made = await changes.create(other, "http://127.0.0.1:8080/x", ["lead.created"])
    event = await changes.send_test(other, made.id)
    await wire.relay()
    for path in (f"/webhooks/{made.id}", f"/webhooks/{made.id}/secret", f"/deliveries/{event}/{made.id}"):
        await admin.open(path, 404)
    assert made.id not in await admin.open("/deliveries")
    await admin.fill(f"/webhooks/{made.id}/delete", 404)
    page = await history.page(other, history.Filter())
    assert [row.event_id for row in page.rows] == [event]


async def test_a_viewer_sees_and_changes_nothing(viewer, workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    page = await viewer.open(f"/webhooks/{made.id}")
    assert "/settings" not in page
    assert "/delete" not in page
    await viewer.fill(f"/webhooks/{made.id}/discard", 403)
    await viewer.open(f"/webhooks/{made.id}/secret", 403)


@pytest.mark.parametrize(
    "query", ["stage=odd", "kind=odd", "outcome=odd", "after=odd", "since=odd", "since=2026-13-01T00:00", "subject=%27"]
)
async def test_odd_filters_are_told_or_find_nothing(admin, query):
    status = 200 if query.startswith("subject") else 400
    await admin.open(f"/deliveries?{query}", status)


@pytest.mark.parametrize(
    "since",
    ["2026-01-02T03:04", "2026-01-02T03:04:05", "2026-01-02T03:04-05:00", "2026-01-02T03:04:05Z", "2026-01-02"],
)
async def test_a_filter_takes_a_time_with_and_without_a_zone(admin, since):
    await admin.open(f"/deliveries?since={since}")


@pytest.mark.parametrize("wanted", [{}, {"stage": "delivered"}, {"kind": "lead.created"}, {"outcome": "delivered"}])
async def test_pages_hold_everything_once(workspace, bot, wire, receiver, wanted):
    first, second = [await endpoint(workspace, receiver.url) for _ in range(2)]
    for number in range(7):
        await make.lead(workspace, bot, email=f"a{number}@example.com")
    for _ in range(3):
        await wire.turn()
    seen: list[tuple[str, str]] = []
    after = ""
    for _ in range(20):
        page = await history.page(workspace, history.Filter(**wanted), after, limit=3)
        seen += [(row.event_id, row.endpoint_id) for row in page.rows]
        if page.after is None:
            break
        after = page.after
    assert seen == sorted(seen, key=lambda key: key[0], reverse=True)
    assert len(set(seen)) == len(seen) == 14
    assert {endpoint_id for _, endpoint_id in seen} == {first.id, second.id}


@pytest.mark.parametrize(("stage", "answer"), [("unfinished", 500), ("dead", 410)])
async def test_a_stage_is_listed_of_the_kind_that_is_asked_for(workspace, bot, wire, receiver, stage, answer):
    await endpoint(workspace, receiver.url, "lead.created", "conversation.started")
    receiver.answer = answer
    await make.lead(workspace, bot)
    await wire.turn()
    assert {row.event for row in (await history.page(workspace, history.Filter())).rows} == {
        "conversation.started", "lead.created",
    }  # fmt: skip
    page = await history.page(workspace, history.Filter(stage=stage, kind="lead.created"))
    assert [row.event for row in page.rows] == ["lead.created"]


async def test_figures_are_of_what_was_attempted(admin, workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.turn()
    receiver.answer = 500
    await make.lead(workspace, bot, email="b@example.com")
    await wire.turn()
    await changes.send_test(workspace, made.id)
    await wire.turn()
    await hourly_stats.flush()
    await hourly_stats.flush()
    known = (await stats.of(workspace, [made.id]))[made.id]
    assert (known.delivered, known.failed, known.share, known.waiting) == (1, 1, 0.5, 1)
    assert known.last_outcome == "http_5xx"
    page = await admin.open("/")
    assert "<dt>Attempts delivered</dt><dd>50.00 %</dd>" in page
    assert "<dt>Waiting</dt><dd>1<small>next " in page
    assert known.next_at is not None
    assert len(known.hours) == 24
    assert await stats.of(await accounts.create_workspace("Other"), [made.id]) == {}


def test_p95_is_within_the_bucket_it_falls_in():
    assert stats.p95([0] * 13) is None
    assert stats.p95([100, *[0] * 12]) == pytest.approx(9.5)
    assert 200 < stats.p95([50, 0, 0, 0, 0, 50, *[0] * 7]) <= 500
    assert stats.p95([*[0] * 12, 1]) == 30_000


async def test_figures_of_an_hour_ago_stay_in_their_hour(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    await wire.relay()
    await db_clock.forward(-7200)
    await make.lead(workspace, bot)
    await wire.turn()
    await db_clock.reset()
    await hourly_stats.flush()
    hours = (await stats.of(workspace, [made.id]))[made.id].hours
    assert [hour.delivered for hour in hours[-4:]] == [0, 1, 0, 0]


async def test_a_secret_that_opens_nowhere_is_a_page_that_says_whom_to_ask(admin, receiver, caplog):
    """As one that was copied from another endpoint's row, or when LEADWIRE_SECRET_KEY is another's."""
    workspace = await only("SELECT id FROM workspace")
    mine, other = await endpoint(workspace, receiver.url), await endpoint(workspace, receiver.url)
    await db.rows(
        "UPDATE webhook_endpoint SET secret = (SELECT secret FROM webhook_endpoint WHERE id = $1) WHERE id = $2",
        other.id,
        mine.id,
    )
    page = await admin.open(f"/webhooks/{mine.id}/secret", 503)
    assert "until the operator has looked" in page
    assert "LEADWIRE_SECRET_KEY" not in page
    line = next(record for record in caplog.records if record.getMessage() == "request.failed")
    assert "LEADWIRE_SECRET_KEY does not open" in str(line.exc_info[1])


async def test_endpoints_are_shown_while_their_workspace_is_held(admin, workspace, bot, wire, receiver):
    """While it is moved, it is open for a minute or more, and its deliveries wait for nobody knows how long."""
    made = await endpoint(workspace, receiver.url)
    await rows.hold(workspace, held=True)
    await make.lead(workspace, bot)
    await fan_out()
    event = await only("SELECT event_id FROM delivery")
    for page in ("/", "/deliveries", "/webhooks", f"/webhooks/{made.id}", f"/deliveries/{event}/{made.id}"):
        assert "Retry-After" not in await admin.open(page)
