"""From a committed change to a receiver's answer, hop by hop, with the clock moved instead of waited for."""

import json

import pytest
from standardwebhooks.webhooks import Webhook

from leadwire.delivery import streams
from leadwire.delivery.monitoring import ledger
from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes, reads
from leadwire.infrastructure import clock, db
from leadwire_development import verifying
from tests import make
from tests.delivery.wired import Wire, endpoint, redriven


async def states() -> dict[str, int]:
    return {
        row["state"]: row["count"] for row in await db.rows("SELECT state, count(*) FROM every_delivery GROUP BY state")
    }


async def broken(wire: Wire) -> list[str]:
    checks, _ = await ledger.check(wire.redis, wire.settings)
    assert len(checks) == 9
    return [check.name for check in checks if check.broken]


async def test_a_change_reaches_its_receiver_signed(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    lead = await make.lead(workspace, bot, name="Zoë")
    await wire.turn()
    (delivery,) = await receiver.received(1)
    assert delivery.event == "lead.created"
    assert json.loads(delivery.body)["data"]["id"] == lead.id
    assert json.loads(delivery.body).keys() == {"event", "timestamp", "data"}
    verifying.verify(delivery.body, delivery.headers, made.secret, now=int(clock.now().timestamp()))
    Webhook(made.secret).verify(delivery.body, delivery.headers)
    assert delivery.headers["content-type"] == "application/json"
    assert delivery.headers["x-service-attempt"] == "1"
    assert await states() == {"delivered": 1}
    assert await broken(wire) == []
    assert [load.length for load in await streams.states(wire.redis, 4)] == [0, 0, 0, 0]


async def test_the_time_of_a_webhook_is_the_databases(workspace, bot, wire, receiver):
    """A receiver refuses one that is off by five minutes; the clock of a worker may be off by hours."""
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    with clock.at(clock.ago(hours=5)):
        (attempt,) = await wire.turn()
    (delivery,) = await receiver.received(1)
    verifying.verify(delivery.body, delivery.headers, made.secret, now=int(clock.now().timestamp()))
    assert await db.value("SELECT now() - started_at BETWEEN '-1 minute' AND '1 minute' FROM attempt")
    assert attempt.started_at.microsecond % 1000 == 0


async def test_only_subscribed_and_enabled_endpoints_of_the_workspace_get_it(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url, "lead.updated")
    silent = await changes.create(workspace, receiver.url, ["lead.created"])
    assert not silent.enabled
    await make.lead(workspace, bot)
    assert await wire.turn() == []
    assert await states() == {}


async def test_the_body_and_id_are_the_same_on_every_attempt(workspace, bot, wire, receiver, db_clock):
    receiver.answer = 500
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    for seconds in (0, 60, 300, 1800):
        await db_clock.forward(seconds)
        await wire.turn()
    assert len({(delivery.webhook_id, delivery.body) for delivery in receiver.deliveries}) == 1
    assert [delivery.attempt for delivery in receiver.deliveries] == [1, 2, 3, 4]


async def test_retries_come_exactly_on_schedule_then_a_dead_letter_that_redrive_delivers(
    workspace, bot, wire, receiver, db_clock
):
    receiver.answer = 500
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.turn()
    for wait in (60, 300, 1800):
        due_in = await db.value("SELECT extract(epoch FROM due_at - now()) FROM every_delivery WHERE state = 'waiting'")
        assert wait - 2 < due_in <= wait
        await db_clock.forward(wait - 3)
        assert await wire.turn() == []  # not a moment early
        await db_clock.forward(3)
        assert len(await wire.turn()) == 1
    assert await states() == {"dead": 1}
    letters, total = await reads.dead_letters(workspace)
    assert (total, letters[0].attempts, letters[0].last_outcome) == (1, 4, "http_5xx")
    await db_clock.forward(10_000)
    assert await wire.turn() == []  # dead is dead
    receiver.answer = 204
    assert await redriven(workspace, letters[0].event_id) == 1
    await wire.turn()
    assert await states() == {"delivered": 1}
    assert len({delivery.webhook_id for delivery in receiver.deliveries}) == 1
    assert receiver.deliveries[-1].attempt == 1
    (story,) = await reads.deliveries_of(workspace, letters[0].event_id)
    assert [(one.generation, one.number) for one in story.history] == [(1, 1), (1, 2), (1, 3), (1, 4), (2, 1)]
    assert story.endpoint_id == made.id
    assert await broken(wire) == []


@pytest.mark.parametrize(
    ("status", "outcome", "state"),
    [
        (200, "delivered", "delivered"),
        (299, "delivered", "delivered"),
        (302, "http_3xx", "waiting"),
        (404, "http_4xx", "waiting"),
        (503, "http_5xx", "waiting"),
        (410, "gone", "dead"),
    ],
)
async def test_what_each_answer_means(workspace, bot, wire, receiver, status, outcome, state):
    receiver.answer = status
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    (done,) = await wire.turn()
    assert (done.outcome, done.http_status) == (outcome, status)
    assert await states() == {state: 1}
    assert await broken(wire) == []


async def test_gone_disables_the_endpoint_and_says_why(workspace, bot, wire, receiver):
    receiver.answer = 410
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.turn()
    found = await reads.endpoint(workspace, made.id)
    assert (found.enabled, found.disabled_reason) == (False, "gone")


async def test_a_receiver_may_put_a_retry_off_but_not_hurry_it(workspace, bot, wire, receiver, db_clock):
    receiver.answer, receiver.extra_headers = 500, "Retry-After: 600\r\n"
    await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.turn()
    due_in = await db.value("SELECT extract(epoch FROM due_at - now()) FROM every_delivery")
    assert 598 < due_in <= 600
    receiver.extra_headers = "Retry-After: 1\r\n"
    await make.lead(workspace, bot, email="bob@example.com")
    await wire.turn()
    assert 58 < await db.value("SELECT min(extract(epoch FROM due_at - now())) FROM every_delivery") <= 60


async def test_nobody_listening_is_a_connect_error_and_the_endpoint_fails(workspace, bot, wire):
    made = await endpoint(workspace, "http://127.0.0.1:1024/")
    await make.lead(workspace, bot)
    (done,) = await wire.turn()
    assert done.outcome == "connect_error"
    assert done.error
    window, failing = await db.row(
        "SELECT admission_window, failing_since IS NOT NULL FROM webhook_endpoint WHERE id = $1", made.id
    )
    assert (window, failing) == (256, True), "a failure is no reason to send less at a time"


async def test_an_address_forbidden_meanwhile_is_blocked_at_connect(workspace, bot, wire):
    made = await endpoint(workspace, "http://127.0.0.1:9/".replace(":9/", ":8999/"))
    await db.rows("UPDATE webhook_endpoint SET url = 'http://169.254.169.254/latest' WHERE id = $1", made.id)
    await make.lead(workspace, bot)
    (done,) = await wire.turn()
    assert done.outcome == "blocked_address"


async def test_a_full_window_holds_deliveries_back_in_postgres(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url, "message.sent")
    await db.rows("UPDATE webhook_endpoint SET admission_window = 3 WHERE id = $1", made.id)
    talk = await make.conversation(workspace, bot)
    from leadwire.domain.conversations import changes as conversations

    for n in range(10):
        await conversations.add_message(workspace, talk, "bot", f"line {n}")
    await wire.relay()
    assert await states() == {"queued": 3, "waiting": 7}
    assert sum(load.length for load in await streams.states(wire.redis, 4)) == 3
    rounds = 0
    while await wire.turn():
        rounds += 1
    assert len(receiver.deliveries) == 10
    assert rounds >= 2
    assert await db.value("SELECT admission_window FROM webhook_endpoint") == 13


async def test_a_test_event_goes_to_a_disabled_endpoint_once(workspace, wire, receiver, db_clock):
    receiver.answer = 500
    made = await changes.create(workspace, receiver.url, ["conversation.started"])
    other = await endpoint(workspace, receiver.url, "conversation.started")
    await changes.send_test(workspace, made.id)
    await wire.turn()
    (delivery,) = receiver.deliveries
    assert delivery.headers["x-service-test"] == "true"
    assert delivery.event == "conversation.started"
    verifying.verify(delivery.body, delivery.headers, made.secret, now=int(clock.now().timestamp()))
    await db_clock.forward(3600)
    assert await wire.turn() == []
    assert (await reads.dead_letters(workspace))[1] == 0
    assert other.id != made.id


async def test_what_waits_for_a_disabled_endpoint_flows_when_it_is_enabled(workspace, bot, wire, receiver, db_clock):
    receiver.answer = 500
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.turn()
    await changes.disable(workspace, made.id)
    await db_clock.forward(100)
    assert await wire.turn() == []
    receiver.answer = 204
    await changes.enable(workspace, made.id)
    await wire.turn()
    assert await states() == {"delivered": 1}


async def test_disabling_while_queued_puts_it_back_to_wait(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    await make.lead(workspace, bot)
    await wire.relay()
    await changes.disable(workspace, made.id)
    assert await wire.deliver() == []
    assert await states() == {"waiting": 1}
    assert receiver.deliveries == []


async def test_deleting_an_endpoint_cancels_what_it_was_owed(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    receiver.answer = 500
    await make.lead(workspace, bot, email="retried@example.com")
    await wire.turn()
    await make.lead(workspace, bot, email="on-its-way@example.com")
    await wire.relay()
    assert await states() == {"queued": 1, "waiting": 1}
    await changes.delete(workspace, made.id)
    assert await wire.turn() == []
    assert await states() == {"cancelled": 2}
    assert len(receiver.deliveries) == 1
    assert await broken(wire) == []


async def test_an_erased_lead_is_not_told_any_more(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url, "lead.created", "lead.deleted", "message.received")
    lead = await make.lead(workspace, bot)
    await wire.relay()
    await erasure.erase_lead(workspace, lead.id)
    await wire.turn()
    assert [delivery.event for delivery in receiver.deliveries] == ["lead.deleted"]
    assert await broken(wire) == []
