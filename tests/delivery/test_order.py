"""An endpoint that wants order gets what is about one subject one at a time, in the order of the changes."""

from leadwire.delivery.relay.admit import admit
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.privacy import erasure
from leadwire.infrastructure import db
from tests.delivery.in_order import InOrder
from tests.delivery.interleaved import apart


async def test_in_order_one_at_a_time_goes_out_and_the_next_follows(in_order, wire):
    lead = await in_order.lead()
    await in_order.score(lead, 1, 2, 3)
    for expected in ([1], [1, 2], [1, 2, 3]):
        await wire.turn()
        assert in_order.told() == expected


async def test_order_holds_across_retries_and_other_subjects_go_on(in_order, wire, receiver, db_clock):
    one, other = await in_order.lead(), await in_order.lead()
    await in_order.score(one, 1, 2)
    receiver.answer = 500
    await wire.turn()
    receiver.answer = 200
    await in_order.score(one, 3)
    await in_order.score(other, 9)
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [1, 9], "the second must wait for the retry of the first"
    assert await db.value("SELECT count(*) FROM every_delivery WHERE state = 'waiting' AND due_at <= now()") == 0
    await db_clock.forward(60)
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [1, 9, 1, 2, 3]


async def test_a_dead_letter_lets_the_next_of_its_subject_go(in_order, wire, receiver, db_clock):
    lead = await in_order.lead()
    await in_order.score(lead, 1, 2)
    receiver.answer = 500
    for seconds in (0, 60, 300, 1800):
        await db_clock.forward(seconds)
        await wire.turn()
    receiver.answer = 200
    await wire.turn()
    assert in_order.told() == [1, 1, 1, 1, 2]


async def test_order_holds_while_two_relays_fan_out_at_once(in_order, wire):
    """One has made the first delivery and not committed: the other leaves the workspace alone."""
    lead = await in_order.lead()
    await in_order.score(lead, 1, 2)
    async with db.transaction():
        assert (await fan_out("", 1)).waiting == 1
        assert (await apart(fan_out())).events == 0
        assert await apart(admit()) == []
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [1, 2]


async def test_a_conversation_is_told_in_order_with_its_lead(workspace, bot, wire, receiver):
    kinds = ("conversation.started", "message.received", "lead.created", "lead.deleted", "conversation.ended")
    in_order = await InOrder.of(workspace, bot, receiver, *kinds)
    lead = await in_order.lead()
    await conversations.end(workspace, lead.conversation_id, "api", "api")
    await erasure.erase_lead(workspace, lead.id)
    recorded = [row["kind"] for row in await db.rows("SELECT kind FROM event WHERE body <> '' ORDER BY position")]
    for _ in range(8):
        await wire.turn()
    assert [one.event for one in receiver.deliveries] == [kind for kind in recorded if kind in kinds]
    assert receiver.deliveries[-1].event == "lead.deleted"
