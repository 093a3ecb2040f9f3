"""An endpoint that wants order gets what is about one subject one at a time, in the order of the changes."""

import json

from leadwire.delivery.relay.admit import admit
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.domain.conversations import changes as conversations
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.privacy import changes as privacy
from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db, ids
from tests import make
from tests.delivery.interleaved import apart
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
    assert await db.value("SELECT count(*) FROM every_delivery WHERE state = 'waiting' AND due_at <= now()") == 0
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


async def test_order_holds_while_two_relays_fan_out_at_once(workspace, bot, wire, receiver):
    """One has made the first delivery and not committed: the other leaves the workspace alone."""
    await ordered(workspace, receiver)
    lead = await somebody(workspace, bot)
    await patched(workspace, lead, 1, 2)
    async with db.transaction():
        assert (await fan_out("", 1)).waiting == 1
        assert (await apart(fan_out())).events == 0
        assert await apart(admit()) == []
    for _ in range(3):
        await wire.turn()
    assert await scores(receiver) == [1, 2]


async def test_a_conversation_is_told_in_order_with_its_lead(workspace, bot, wire, receiver):
    kinds = ("conversation.started", "message.received", "lead.created", "lead.deleted", "conversation.ended")
    await ordered(workspace, receiver, *kinds)
    lead = await somebody(workspace, bot)
    await conversations.end(workspace, lead.conversation_id, "api", "api")
    await privacy.erase_lead(workspace, lead.id)
    recorded = [row["kind"] for row in await db.rows("SELECT kind FROM event WHERE body <> '' ORDER BY position")]
    for _ in range(8):
        await wire.turn()
    assert [one.event for one in receiver.deliveries] == [kind for kind in recorded if kind in kinds]
    assert receiver.deliveries[-1].event == "lead.deleted"
