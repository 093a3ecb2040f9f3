"""What an endpoint can be given: order, a rate, headers, a new secret; and when it is taken off the wire."""

import json

import pytest
from standardwebhooks.webhooks import Webhook

from leadwire.delivery import signing
from leadwire.delivery.relay.admit import admit
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.worker import health, window
from leadwire.delivery.worker.health import FAILING_ATTEMPTS
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.privacy import changes as privacy
from leadwire.domain.webhooks import changes, reads, rotation
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db, ids
from leadwire.infrastructure.errors import Conflict, Invalid, NotFound
from tests import make
from tests.delivery.wired import endpoint


async def scores(receiver) -> list[int]:
    return [json.loads(one.body)["data"]["score"] for one in receiver.deliveries]


async def somebody(workspace, bot):
    """A lead that nobody else is."""
    return await make.lead(workspace, bot, email=f"{ids.new('x')}@example.com")


async def patched(workspace, lead, *new_scores: int) -> None:
    for score in new_scores:
        await leads.update(workspace, lead.id, LeadPatch(score=score), unchanged={})


async def ordered(workspace, receiver, *events: str) -> str:
    made = await endpoint(workspace, receiver.url, *(events or ("lead.updated",)))
    await changes.configure(workspace, made.id, EndpointChange(ordered=True))
    return made.id


async def test_in_order_one_at_a_time_goes_out_and_the_next_follows(workspace, bot, wire, receiver):
    await ordered(workspace, receiver)
    lead = await somebody(workspace, bot)
    await patched(workspace, lead, 1, 2, 3)
    for expected in ([1], [1, 2], [1, 2, 3]):
        await wire.turn()
        assert await scores(receiver) == expected


async def test_order_holds_across_retries_and_other_subjects_go_on(workspace, bot, wire, receiver, db_clock):
    await ordered(workspace, receiver)
    one, other = await somebody(workspace, bot), await somebody(workspace, bot)
    await patched(workspace, one, 1, 2)
    receiver.answer = 500
    await wire.turn()
    receiver.answer = 200
    await patched(workspace, one, 3)
    await patched(workspace, other, 9)
    for _ in range(3):
        await wire.turn()
    assert await scores(receiver) == [1, 9], "the second must wait for the retry of the first"
    assert await db.value("SELECT count(*) FROM delivery WHERE state = 'waiting' AND due_at <= now()") == 0
    await db_clock.forward(60)
    for _ in range(3):
        await wire.turn()
    assert await scores(receiver) == [1, 9, 1, 2, 3]


async def test_a_dead_letter_lets_the_next_of_its_subject_go(workspace, bot, wire, receiver, db_clock):
    await ordered(workspace, receiver)
    lead = await somebody(workspace, bot)
    await patched(workspace, lead, 1, 2)
    receiver.answer = 500
    for seconds in (0, 60, 300, 1800):
        await db_clock.forward(seconds)
        await wire.turn()
    receiver.answer = 200
    await wire.turn()
    assert await scores(receiver) == [1, 1, 1, 1, 2]


async def test_order_waits_for_what_another_relay_has_not_fanned_out_yet(workspace, bot, wire, receiver):
    """Two relays with a batch each: the later batch commits first."""
    await ordered(workspace, receiver)
    lead = await somebody(workspace, bot)
    await patched(workspace, lead, 1, 2)
    first = await db.value("SELECT id FROM outbox_event WHERE kind = 'lead.updated' ORDER BY position LIMIT 1")
    async with db.transaction():
        await db.rows("SELECT 1 FROM outbox_event WHERE id = $1 FOR UPDATE", first)  # what the other relay holds
        outside = __import__("contextvars").Context()
        loop = __import__("asyncio").get_running_loop()
        await loop.create_task(fan_out(), context=outside)
        assert await loop.create_task(admit(), context=outside) == []
    for _ in range(3):
        await wire.turn()
    assert await scores(receiver) == [1, 2]


async def test_a_conversation_is_told_in_order_with_its_lead(workspace, bot, wire, receiver):
    kinds = ("conversation.started", "message.received", "lead.created", "lead.deleted", "conversation.ended")
    await ordered(workspace, receiver, *kinds)
    lead = await somebody(workspace, bot)
    await conversations.end(workspace, lead.conversation_id, "api", "api")
    await privacy.erase_lead(workspace, lead.id)
    recorded = [
        row["kind"] for row in await db.rows("SELECT kind FROM outbox_event WHERE body <> '' ORDER BY position")
    ]
    for _ in range(8):
        await wire.turn()
    assert [one.event for one in receiver.deliveries] == [kind for kind in recorded if kind in kinds]
    assert receiver.deliveries[-1].event == "lead.deleted"


async def test_a_rate_spreads_deliveries_out_without_using_up_attempts(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(rate_limit=120))  # two a second
    for _ in range(5):
        await somebody(workspace, bot)
    counts = []
    for seconds in (0, 1, 1, 1):
        await db_clock.forward(seconds)
        await wire.turn()
        await wire.turn()  # nothing more in the same second
        counts.append(len(receiver.deliveries))
    assert counts == [2, 4, 5, 5]
    assert {row["attempts"] for row in await db.rows("SELECT attempts FROM delivery")} == {1}


async def test_a_rate_below_one_a_second_waits_for_its_turn(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    await changes.configure(workspace, made.id, EndpointChange(rate_limit=6))
    for _ in range(2):
        await somebody(workspace, bot)
    counts = []
    for seconds in (0, 9, 1):
        await db_clock.forward(seconds)
        await wire.turn()
        counts.append(len(receiver.deliveries))
    assert counts == [1, 1, 2]


async def test_own_headers_are_sent_and_kept_sealed(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    changed = await changes.configure(
        workspace, made.id, EndpointChange(headers={"Authorization": "Bearer s3cret-value", "X-Team": "sales"})
    )
    assert changed.headers == ["Authorization", "X-Team"]
    kept = await db.value("SELECT headers FROM webhook_endpoint")
    assert b"s3cret-value" not in kept
    await somebody(workspace, bot)
    await wire.turn()
    (delivery,) = receiver.deliveries
    assert (delivery.headers["authorization"], delivery.headers["x-team"]) == ("Bearer s3cret-value", "sales")
    assert (await changes.configure(workspace, made.id, EndpointChange(headers={}))).headers == []


@pytest.mark.parametrize(
    "headers",
    [
        {name: "x"}
        for name in (
            "Host", "content-length", "Content-Type", "Transfer-Encoding", "Connection", "webhook-id",
            "Webhook-Signature", "X-Service-Signature", "x-service-anything", "traceparent", "Proxy-Authorization",
            "Expect", "User-Agent", "Cookie", "Sec-Fetch-Site", "", "a b", "a:b", "ä", "x\r\nHost: evil", "n" * 101,
        )
    ]
    + [{"X-A": value} for value in ("a\r\nX-B: c", "a\nb", "\0", "ä", " a", "a ", "v" * 1001)]
    + [{"X-A": "1", "x-a": "2"}, {f"X-{n}": "v" for n in range(21)}],
)  # fmt: skip
async def test_headers_that_are_ours_or_malformed_are_refused(workspace, receiver, headers):
    made = await endpoint(workspace, receiver.url)
    with pytest.raises(Invalid) as refused:
        await changes.configure(workspace, made.id, EndpointChange(headers=headers))
    assert refused.value.errors
    assert (await reads.endpoint(workspace, made.id)).headers == []


@pytest.mark.parametrize("rate", [0, -1, 60_001])
async def test_a_rate_out_of_range_is_refused(workspace, receiver, rate):
    made = await endpoint(workspace, receiver.url)
    with pytest.raises(Invalid):
        await changes.configure(workspace, made.id, EndpointChange(rate_limit=rate))


async def test_a_secret_rotates_without_a_gap(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    staged = await rotation.stage(workspace, made.id)
    assert (await reads.endpoint(workspace, made.id)).staged_at
    await somebody(workspace, bot)
    await wire.turn()
    await rotation.promote(workspace, made.id)
    await somebody(workspace, bot)
    await wire.turn()
    during, after = receiver.deliveries
    for secret in (made.secret, staged):
        Webhook(secret).verify(during.body, during.headers)
    now = int(clock.now().timestamp())
    signing.verify(during.body, during.headers, made.secret, now=now)
    signing.verify(after.body, after.headers, staged, now=now)
    with pytest.raises(signing.BadSignature):
        signing.verify(after.body, after.headers, made.secret, now=now)
    assert await rotation.reveal(workspace, made.id) == (staged, None)
    with pytest.raises(Conflict):
        await rotation.promote(workspace, made.id)


async def test_a_staged_secret_can_be_taken_back(workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    await rotation.stage(workspace, made.id)
    await rotation.discard(workspace, made.id)
    assert await rotation.reveal(workspace, made.id) == (made.secret, None)


async def test_another_workspace_cannot_touch_an_endpoint(workspace, receiver):
    made = await endpoint(workspace, receiver.url)
    for attempt in (
        rotation.stage("ws_other", made.id),
        rotation.promote("ws_other", made.id),
        rotation.discard("ws_other", made.id),
        rotation.reveal("ws_other", made.id),
        changes.configure("ws_other", made.id, EndpointChange(ordered=True)),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert not (await reads.endpoint(workspace, made.id)).ordered


async def failures(workspace, bot, wire, count: int) -> None:
    for _ in range(count):
        await somebody(workspace, bot)
    while await wire.turn():
        pass


async def test_five_days_of_nothing_but_failures_disable_an_endpoint(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await failures(workspace, bot, wire, FAILING_ATTEMPTS - 1)
    await db_clock.forward(4 * 86_400)
    await failures(workspace, bot, wire, 1)
    assert (await reads.endpoint(workspace, made.id)).enabled, "four days are not five"
    await db_clock.forward(86_400)
    await failures(workspace, bot, wire, 1)
    now = await reads.endpoint(workspace, made.id)
    assert (now.enabled, now.disabled_reason) == (False, "failing")


async def test_one_success_begins_the_five_days_anew(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await failures(workspace, bot, wire, FAILING_ATTEMPTS)
    await db_clock.forward(4 * 86_400)
    receiver.answer = 200
    await failures(workspace, bot, wire, 1)
    receiver.answer = 500
    await db_clock.forward(2 * 86_400)
    await failures(workspace, bot, wire, FAILING_ATTEMPTS)
    assert (await reads.endpoint(workspace, made.id)).enabled


async def test_a_few_failures_long_ago_do_not_disable_a_quiet_endpoint(workspace, bot, wire, receiver, db_clock):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await failures(workspace, bot, wire, 1)
    await db_clock.forward(6 * 86_400)
    await failures(workspace, bot, wire, 1)
    assert (await reads.endpoint(workspace, made.id)).enabled


@pytest.mark.parametrize(
    ("size", "successes", "halvings", "then"),
    [(64, 3, 0, 67), (64, 0, 2, 16), (64, 0, 8, 1), (1, 0, 8, 1), (256, 300, 0, 256), (200, 60, 1, 160), (3, 0, 1, 1)],
)
async def test_a_window_is_halved_then_opened_from_one_to_its_largest(workspace, size, successes, halvings, then):
    made = await endpoint(workspace, "http://127.0.0.1:8080/")
    await db.rows("UPDATE webhook_endpoint SET admission_window = $1", size)
    signal = {"ids": [made.id], "successes": [successes], "failures": [0], "halvings": [halvings], "gone": [False]}
    limits = {"largest": window.LARGEST, "attempts": health.FAILING_ATTEMPTS, "days": health.FAILING_DAYS}
    await health._UPDATE.rows(**signal, **limits)
    assert await db.value("SELECT admission_window FROM webhook_endpoint") == then
