"""Order holds through whatever happens to the first of a subject, and those behind it are never stuck."""

import asyncio

import pytest

from leadwire.delivery.relay import fan_out as relaying
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.retry import NextStep
from leadwire.delivery.worker import quarantine
from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db
from tests.delivery.interleaved import apart
from tests.delivery.test_delivery import broken, states
from tests.delivery.test_one_fails import no_rest, refused  # noqa: F401 - a fixture
from tests.delivery.wired import redriven


async def events() -> list[str]:
    found = await db.rows("SELECT id FROM event WHERE kind = 'lead.updated' ORDER BY position")
    return [row["id"] for row in found]


async def dead_letter(in_order, wire):
    """An ordered endpoint whose delivery of score 1 is dead. It answers well again."""
    lead = await in_order.lead()
    await in_order.score(lead, 1)
    in_order.receiver.answer = 410
    await wire.turn()
    await changes.enable(in_order.workspace, in_order.endpoint_id)
    in_order.receiver.answer = 204
    in_order.receiver.deliveries.clear()
    return lead


async def test_what_is_redriven_goes_before_what_is_still_to_be_sent(in_order, workspace, wire):
    lead = await dead_letter(in_order, wire)
    await in_order.score(lead, 2, 3)
    await fan_out()
    assert await redriven(workspace, (await events())[0]) == 1
    for _ in range(4):
        await wire.turn()
    assert in_order.told() == [1, 2, 3]
    assert await broken(wire) == []


async def test_a_redrive_waits_for_nothing_that_comes_later(in_order, workspace, wire):
    lead = await dead_letter(in_order, wire)
    assert await redriven(workspace, (await events())[0]) == 1
    await in_order.score(lead, 2)
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [1, 2]


async def test_two_dead_letters_of_a_subject_are_redriven_in_order(in_order, workspace, wire, receiver):
    lead = await dead_letter(in_order, wire)
    await in_order.score(lead, 2)
    receiver.answer = 410
    await wire.turn()
    receiver.answer = 204
    receiver.deliveries.clear()
    await changes.enable(workspace, await db.value("SELECT id FROM webhook_endpoint"))
    for event in reversed(await events()):
        assert await redriven(workspace, event) == 1
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [1, 2]


async def test_a_retry_waits_for_what_was_redriven_before_it_meanwhile(in_order, workspace, wire, receiver, db_clock):
    """The second was being sent when the first was redriven; both fail, and then go in their order."""
    lead = await dead_letter(in_order, wire)
    await in_order.score(lead, 2)
    await wire.relay()
    second = await wire.post(await wire.claim())
    assert await redriven(workspace, (await events())[0]) == 1
    await wire.settle([one._replace(outcome="http_5xx", next=NextStep("waiting", 60.0)) for one in second])
    receiver.answer = 500
    await wire.turn()  # the first fails as well
    receiver.answer = 204
    receiver.deliveries.clear()
    await db_clock.forward(60)
    assert await wire.relay() == 1, "one at a time"
    await wire.deliver()
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [1, 2]


@pytest.mark.parametrize("failed_before", [True, False])
async def test_a_retry_behind_what_was_redriven_comes_no_earlier_than_its_time(
    in_order, workspace, wire, receiver, db_clock, failed_before
):
    """It waits for both: its time, and the end of what was redriven, before or after it failed."""
    lead = await dead_letter(in_order, wire)
    await in_order.score(lead, 2)
    await wire.relay()
    second = await wire.post(await wire.claim())
    failed = [one._replace(outcome="http_5xx", next=NextStep("waiting", 60.0)) for one in second]
    receiver.deliveries.clear()
    await db_clock.forward(1)
    for step in (failed_before, not failed_before):
        if step:
            await wire.settle(failed)
        else:
            assert await redriven(workspace, (await events())[0]) == 1
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [1]
    await db_clock.forward(60)
    await wire.turn()
    assert in_order.told() == [1, 2]
    assert await broken(wire) == []


async def queued() -> list[str]:
    found = await db.rows("SELECT event_id FROM delivery WHERE state = 'queued' ORDER BY position")
    return [row["event_id"] for row in found]


async def redriven_amid(in_order, workspace, wire) -> list[str]:
    """Send a dead letter of score 1 again while score 2 is on its way. Return both events."""
    lead = await dead_letter(in_order, wire)
    await in_order.score(lead, 2)
    await wire.relay()
    both = await events()
    assert await redriven(workspace, both[0]) == 1
    return both


async def test_what_is_redriven_waits_for_what_is_on_its_way(in_order, workspace, wire, receiver, db_clock):
    """They went out together; where the redriven one failed, its retry came last."""
    _, second = await redriven_amid(in_order, workspace, wire)
    await wire.relay()
    assert await queued() == [second]
    await wire.deliver()
    receiver.answer = 500
    await wire.turn()
    receiver.answer = 204
    await db_clock.forward(60)
    await wire.turn()
    assert in_order.told() == [2, 1, 1]
    assert await broken(wire) == []


async def test_what_was_redriven_goes_once_what_was_on_its_way_is_set_aside(in_order, workspace, wire):
    await redriven_amid(in_order, workspace, wire)
    await quarantine.set_aside(await wire.read())
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [1]
    await quarantine.release()
    await wire.turn()
    assert in_order.told() == [1, 2]


async def test_what_is_put_back_waits_for_what_was_redriven_before_it(in_order, workspace, wire):
    first, _ = await redriven_amid(in_order, workspace, wire)
    await changes.disable(workspace, in_order.endpoint_id)
    await wire.deliver()
    assert await queued() == []
    await changes.enable(workspace, in_order.endpoint_id)
    await wire.relay()
    assert await queued() == [first]
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [1, 2]
    assert await broken(wire) == []


async def test_what_is_let_go_on_waits_for_what_is_on_its_way(in_order, workspace, wire):
    """Somebody else of the endpoint is erased: what waited behind them goes on, and nothing else."""
    lead, other = await dead_letter(in_order, wire), await in_order.lead()
    await in_order.score(lead, 2)
    await in_order.score(other, 8, 9)
    await wire.relay()
    first, second, *_ = await events()
    assert await redriven(workspace, first) == 1
    await erasure.erase_lead(workspace, other.id)
    for _ in range(2):
        await wire.relay()
    assert await queued() == [second]


class OnceElsewhere:
    """In place of the statement that takes a workspace: another relay has it at the second try."""

    def __init__(self) -> None:
        self._statement, self._tries = relaying._HAVE, 0

    async def value(self, **values) -> bool:
        self._tries += 1
        if self._tries != 2:
            return await self._statement.value(**values)
        has, over = asyncio.Event(), asyncio.Event()

        async def other() -> None:
            async with db.transaction():
                assert await self._statement.value(**values)
                has.set()
                await over.wait()

        elsewhere = apart(other())
        await has.wait()
        taken = await self._statement.value(**values)
        over.set()
        await elsewhere
        return taken


async def test_what_another_relay_has_is_passed_by_nobody(in_order, wire, monkeypatch, no_rest):  # noqa: F811
    """The first of two failed, was tried by itself when another relay had the workspace, and the second went ahead."""
    lead = await in_order.lead()
    await wire.relay()
    await in_order.score(lead, 1, 2)
    first, _ = await events()
    monkeypatch.setattr(relaying, "_HAVE", OnceElsewhere())
    async with refused("delivery", "INSERT", f"NEW.event_id = '{first}'"):
        assert (await fan_out()).events == 0
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [1, 2]


async def test_one_in_quarantine_holds_its_subject_only(in_order, wire):
    one, other = await in_order.lead(), await in_order.lead()
    await in_order.score(one, 1, 2)
    await wire.relay()
    await quarantine.set_aside(await wire.read())
    await in_order.score(one, 3)
    await in_order.score(other, 9)
    for _ in range(2):
        await wire.turn()
    assert in_order.told() == [9]
    await quarantine.release()
    for _ in range(4):
        await wire.turn()
    assert in_order.told() == [9, 1, 2, 3]
    assert await broken(wire) == []


async def test_one_released_while_its_endpoint_is_disabled_goes_when_it_is_enabled(in_order, workspace, wire):
    lead = await in_order.lead()
    await in_order.score(lead, 1, 2)
    await wire.relay()
    await quarantine.set_aside(await wire.read())
    await changes.disable(workspace, in_order.endpoint_id)
    await quarantine.release()
    assert await wire.turn() == []
    await changes.enable(workspace, in_order.endpoint_id)
    for _ in range(3):
        await wire.turn()
    assert in_order.told() == [1, 2]


async def test_one_released_waits_for_what_was_redriven_before_it(in_order, workspace, wire):
    lead = await dead_letter(in_order, wire)
    await in_order.score(lead, 2, 3)
    await wire.relay()
    await quarantine.set_aside(await wire.read())
    assert await redriven(workspace, (await events())[0]) == 1
    assert await quarantine.release() == 1
    for expected in ([1], [1, 2], [1, 2, 3]):
        await wire.turn()
        assert in_order.told() == expected


async def test_an_erased_subject_is_gone_and_the_others_go_on(in_order, workspace, wire, receiver, db_clock):
    one, other = await in_order.lead(), await in_order.lead()
    await in_order.score(one, 1, 2)
    receiver.answer = 500
    await wire.turn()
    receiver.answer = 204
    await in_order.score(other, 8, 9)
    await fan_out()
    await erasure.erase_lead(workspace, one.id)
    await db_clock.forward(60)
    for _ in range(4):
        await wire.turn()
    assert [score for score in in_order.told() if score] == [1, 8, 9]
    assert await states() == {"cancelled": 2, "delivered": 2}


async def test_an_endpoint_that_wants_no_order_any_more_gets_all_there_is(in_order, workspace, wire):
    lead = await in_order.lead()
    await in_order.score(lead, 1, 2, 3)
    await fan_out()
    await changes.configure(workspace, in_order.endpoint_id, EndpointChange(ordered=False))
    for _ in range(4):
        await wire.turn()
    assert in_order.told() == [1, 2, 3]
    await in_order.score(lead, 4)
    await wire.turn()
    assert in_order.told()[-1] == 4


async def test_the_ledger_finds_what_waits_behind_nobody(in_order, wire):
    await in_order.score(await in_order.lead(), 1, 2)
    await fan_out()
    assert await broken(wire) == []
    await db.rows("UPDATE delivery SET due_at = 'infinity'")
    assert await broken(wire) == ["behind_nobody"]
