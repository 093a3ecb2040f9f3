"""Redis as a Sentinel group and as a cluster: everything works on them, and no fault of one server loses a delivery."""

import asyncio
import contextlib
from collections.abc import Iterator

import pytest
from ops.drills import redis_topologies
from ops.drills.redis_topologies import Cluster, SentinelGroup

from leadwire.delivery import streams
from leadwire.delivery.monitoring import status
from leadwire.domain.conversations import pubsub
from leadwire.infrastructure import db, redis_pool
from leadwire.infrastructure.rate_limit import RateLimit
from leadwire.infrastructure.telemetry.health import Health
from tests.waiting import eventually

# A connection whose server has died may be collected before asyncio or redis-py has closed it, and warns then.
pytestmark = [
    pytest.mark.flow,
    pytest.mark.filterwarnings("ignore:unclosed <StreamWriter:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:unclosed Connection <redis:ResourceWarning"),
]


@pytest.fixture(params=["sentinel", "cluster"])
def group(request: pytest.FixtureRequest) -> Iterator[SentinelGroup | Cluster]:
    with redis_topologies.topology(request.param) as made:
        yield made


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with redis_topologies.topology("cluster") as made:
        yield made


async def answered(client: "redis_pool.redis.Redis") -> bool:
    """Whether the streams can be written to."""
    with contextlib.suppress(*redis_pool.AWAY):
        await redis_pool.check_primary(client)
        return True
    return False


async def test_deliveries_wake_ups_limits_health_and_status_work_on_it(group, use, lead_after_lead):
    client = use(group)
    await lead_after_lead(client, lambda: None)
    assert (await Health(needs_redis=True).report()).ready
    states = (await status.read(client, 4, finished=True)).streams
    assert states is not None
    assert [(one.name, one.length) for one in states] == [
        (f"leadwire:{{deliveries}}:{name}", 0) for name in ("0", "1", "2", "3")
    ]
    limit = RateLimit("test", 5, window=300)
    assert sum([await limit.take_at_once("ada") for _ in range(9)]) == 5
    await limit.reset("ada")

    listening = asyncio.create_task(pubsub.hub.listen())
    with pubsub.hub.watch("ws_1", "cv_1") as watch, pubsub.hub.watch("ws_1") as all_of_it:
        await eventually(watch.is_set)  # the subscription is there
        watch.clear()
        all_of_it.clear()
        async with db.transaction():
            pubsub.publish("ws_1", "cv_1")
        assert await watch.changed(240)
        assert await all_of_it.changed(240)
    listening.cancel()
    await asyncio.wait([listening])


async def test_a_switch_over_loses_nothing(group, use, lead_after_lead):
    await lead_after_lead(use(group), group.switch_over)


async def test_a_primary_that_dies_loses_nothing(group, use, lead_after_lead):
    client = use(group)
    await lead_after_lead(client, group.take_away)
    await redis_pool.check_primary(client)


async def test_a_primary_that_is_cut_off_and_comes_back_loses_nothing(group, use, lead_after_lead):
    client = use(group)
    await lead_after_lead(client, group.cut_off)
    await redis_pool.check_primary(client)


async def test_slots_move_while_deliveries_are_made(cluster, use, lead_after_lead):
    client = use(cluster)
    first, second = [one for one in cluster.primaries if one is not cluster.holder]

    def move() -> None:
        cluster.move_slot(cluster.holder, first)
        cluster.move_slot(first, second)

    await lead_after_lead(client, move)
    assert second("EXISTS", streams.names(1)[0]) == 1


async def test_a_slot_moves_to_a_server_that_has_just_joined(cluster, use, lead_after_lead):
    """The client has never heard of it, and it has no other slot."""
    client = use(cluster)
    joined: list[redis_topologies.Node] = []

    def move() -> None:
        joined.append(cluster.join())
        cluster.move_slot(cluster.holder, joined[0])

    await lead_after_lead(client, move)
    assert joined[0]("EXISTS", streams.names(1)[0]) == 1
    assert client.get_node_from_key(redis_pool.PRIMARY_KEY).port == joined[0].port


async def test_another_primary_that_dies_holds_up_no_delivery(cluster, use, lead_after_lead):
    """The first that a client learns of. It takes its part of the slots along."""
    for one in cluster.nodes:
        one("CONFIG SET", "cluster-require-full-coverage", "no")
    client = use(cluster)
    await lead_after_lead(client, cluster.take_another_away)
    limit = RateLimit("test", 5, window=300)
    assert all([await limit.take_at_once(f"visitor {number}") for number in range(50)])
    again = use(cluster)  # the only one that it is told of may be the one that is gone
    await eventually(lambda: answered(again))
