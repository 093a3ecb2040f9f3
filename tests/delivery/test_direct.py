"""Deliveries that the change makes itself: only where it is cheap, and then as surely as the relay makes them."""

from collections import Counter
from functools import partial

import asyncpg
import pytest

from leadwire.delivery import outbox
from leadwire.delivery.streams import push
from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import db, redis_pool
from tests import make
from tests.delivery.interleaved import overlapped
from tests.delivery.test_delivery import broken, states
from tests.delivery.wired import endpoint


async def left_to_relay() -> int:
    return int(await db.value("SELECT count(*) FROM outbox"))


@pytest.mark.parametrize(("endpoints", "direct"), [(outbox.DIRECT, True), (outbox.DIRECT + 1, False)])
async def test_few_open_endpoints_get_their_deliveries_in_the_change(workspace, bot, wire, receiver, endpoints, direct):
    for _ in range(endpoints):
        await endpoint(workspace, receiver.url)
    await wire.relay()  # opens them
    await make.lead(workspace, bot)
    assert await states() == ({"queued": endpoints} if direct else {})
    assert await left_to_relay() == (0 if direct else 1)
    while await wire.turn():
        pass
    assert await states() == {"delivered": endpoints}
    assert await left_to_relay() == 0
    assert len(receiver.deliveries) == endpoints


async def test_one_that_is_not_open_leaves_them_all_to_the_relay(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await wire.relay()
    await endpoint(workspace, receiver.url)  # new, so closed
    await make.lead(workspace, bot)
    assert (await states(), await left_to_relay()) == ({}, 1)
    await wire.turn()
    assert await states() == {"delivered": 2}


async def test_nobody_who_wants_it_is_no_work_for_anybody(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url, "lead.deleted")
    await wire.relay()
    await make.lead(workspace, bot)
    assert (await states(), await left_to_relay()) == ({}, 0)


@pytest.mark.parametrize("how", ["failed", "none"])
async def test_without_redis_events_are_left_to_the_relay(workspace, bot, wire, receiver, monkeypatch, how):
    await endpoint(workspace, receiver.url)
    await wire.relay()
    with monkeypatch.context() as patched:
        if how == "failed":
            patched.setattr(push._state, "failing", True)
        else:
            patched.setattr(redis_pool, "client", lambda: None)
        assert not push.is_open()
        await make.lead(workspace, bot)
    assert push.is_open()
    assert (await states(), await left_to_relay()) == ({}, 1)
    await wire.turn()
    assert await states() == {"delivered": 1}


async def _lead_that_fails(workspace, bot):
    async with db.transaction():
        await make.lead(workspace, bot)
        await db.rows("SELECT 1 / 0")


async def test_a_change_that_is_rolled_back_queues_nothing(workspace, bot, wire, receiver):
    await endpoint(workspace, receiver.url)
    await wire.relay()
    with pytest.raises(asyncpg.DivisionByZeroError):
        await _lead_that_fails(workspace, bot)
    assert await wire.turn() == []
    assert (await states(), await left_to_relay()) == ({}, 0)


async def _add(workspace, url, _existing):
    await endpoint(workspace, f"{url}/new")


async def _delete(workspace, _url, existing):
    await changes.delete(workspace, existing)


async def _disable(workspace, _url, existing):
    await changes.disable(workspace, existing)


async def _limit(workspace, _url, existing):
    await changes.configure(workspace, existing, EndpointChange(rate_limit=60))


async def _order(workspace, _url, existing):
    await changes.configure(workspace, existing, EndpointChange(ordered=True))


@pytest.fixture
async def opened(workspace, bot, wire, receiver, monkeypatch, direct):
    """Two open endpoints, one of which is going to change; `direct`: whether changes queue deliveries themselves."""
    await endpoint(workspace, f"{receiver.url}/same")
    existing = await endpoint(workspace, f"{receiver.url}/changed")
    await wire.relay()
    monkeypatch.setattr(push, "is_open", lambda: direct)
    return workspace, bot, existing


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize("event_first", [True, False])
@pytest.mark.parametrize("change", [_add, _delete, _disable, _limit, _order])
async def test_an_endpoint_that_changes_meanwhile_gets_one_delivery_or_none(
    opened, wire, receiver, event_first, change
):
    """Neither transaction sees what the other has not committed. Who did not change gets exactly one."""
    workspace, bot, existing = opened
    moves = [partial(make.lead, workspace, bot), partial(change, workspace, receiver.url, existing.id)]
    if not event_first:
        moves.reverse()
    await overlapped(*moves)
    for _ in range(3):
        await wire.turn()
    if change is _disable:
        await changes.enable(workspace, existing.id)
        await wire.turn()
    posts = Counter(one.path.rpartition("/")[2] for one in receiver.deliveries)
    assert posts["same"] == 1
    assert posts["new"] <= 1
    made = {_add: {1}, _delete: {0}, _disable: {0, 1}, _limit: {1}, _order: {1}}
    assert posts["changed"] in made[change]
    assert (await states()).keys() <= {"delivered", "cancelled"}, "nothing is left behind"
    assert (await states())["delivered"] == posts.total()
    assert await broken(wire) == []
