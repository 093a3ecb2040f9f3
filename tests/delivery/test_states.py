"""One enumeration of states: rows, the view of them, and the documents have the same."""

import typing
from pathlib import Path

from leadwire.delivery import pull, states
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.worker import quarantine
from leadwire.domain.webhooks import changes
from leadwire.infrastructure import db
from tests import make
from tests.delivery.wired import endpoint

ARCHITECTURE = Path(__file__).parents[2] / "src" / "leadwire" / "docs" / "architecture.md"


async def exact() -> list[str]:
    return [row[0] for row in await db.rows("SELECT exact_state FROM every_delivery ORDER BY event_id")]


def test_each_is_stored_as_one():
    assert tuple(states.EXACT) == typing.get_args(states.ExactState)
    assert set(states.EXACT.values()) == set(typing.get_args(states.State))


def test_the_documents_have_the_same_diagram():
    text = ARCHITECTURE.read_text()
    for line in (states.__doc__ or "").splitlines():
        assert not line.startswith("    ") or line[4:] in text
    assert all(f"`{state}`" in text for state in states.EXACT)


async def test_from_waiting_to_delivered(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await make.somebody(workspace, bot)
    told = []
    for hop in (fan_out, wire.relay):
        await hop()
        told += await exact()
    jobs = await wire.claim()
    told += await exact()
    await wire.settle(await wire.post(jobs))
    assert told + await exact() == ["waiting", "queued", "sending", "delivered"]


async def test_behind_another(in_order, wire):
    lead = await in_order.lead()
    await in_order.score(lead, 1, 2)
    await wire.relay()
    assert await exact() == ["queued", "behind"]


async def test_set_aside_dead_and_canceled(workspace, bot, wire, receiver):
    made = await endpoint(workspace, receiver.url)
    for state in ("dead", "set_aside"):
        await make.somebody(workspace, bot)
        await wire.relay()
        if state == "set_aside":
            await quarantine.set_aside(await wire.read())
        receiver.answer = 410
        await wire.deliver()
        await changes.enable(workspace, made.id)
    assert await exact() == ["dead", "set_aside"]
    await changes.delete(workspace, made.id)
    await wire.relay()
    assert await exact() == ["dead", "cancelled"]


async def test_fetched(workspace, bot, wire):
    made = await endpoint(workspace, "pull:crm")
    await make.somebody(workspace, bot)
    await wire.relay()
    await pull.take(made.id, workspace, 10, wire.settings)
    assert await exact() == ["fetched"]
