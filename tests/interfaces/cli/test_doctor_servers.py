"""`leadwire doctor` on servers that belong together, and on those that do not: real ones, each with one thing wrong."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta

import asyncpg
import pytest
from ops.drills.redis_topologies import SLOT, SLOTS, Cluster, Node, Topology, topology
from ops.drills.servers import Servers
from redis.asyncio import Redis

from leadwire.delivery.streams import installation
from leadwire.infrastructure import clock, redis_pool, settings
from leadwire.interfaces.cli.checks import postgres
from leadwire.interfaces.cli.checks.finding import Finding
from leadwire.interfaces.cli.checks.redis import check, clocks
from leadwire_development.embedded import Services
from tests.delivery.elsewhere import standby, standby_url
from tests.flows.commands import free_port, refused, run
from tests.interfaces.cli.conftest import examined
from tests.interfaces.cli.test_doctor import INFO, bad
from tests.waiting import until

MEBIBYTES = 20


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    with topology("cluster") as made:
        yield made


@pytest.fixture
def slotless() -> Iterator[Node]:
    """A server of a cluster that nobody has given any slots."""
    with Topology() as made:
        yield made.node(**{"cluster-enabled": "yes", "cluster-port": str(free_port())})


def test_a_cluster_without_slots_is_one_line(sound: dict[str, str], slotless: Node) -> None:
    code, found = examined(**sound | {"REDIS_URL": f"redis+cluster://{slotless.address}"})
    assert (code, found["Redis answers"]["level"]) == (1, "error")
    assert found["Redis answers"]["says"] == "Redis cannot be reached: no server of the cluster has any slot"


async def test_a_client_finds_the_slots_of_a_cluster_that_had_none(slotless: Node) -> None:
    client = redis_pool.create_client(f"redis+cluster://{slotless.address}")
    for _ in range(2):
        with pytest.raises(redis_pool.AWAY, match="no server of the cluster has any slot"):
            await redis_pool.check_primary(client)
    slotless("CLUSTER", "ADDSLOTSRANGE", 0, SLOTS - 1)
    until(lambda: slotless("CLUSTER INFO")["cluster_state"] == "ok")
    await redis_pool.check_primary(client)
    await client.aclose()


def test_slots_that_nobody_serves_are_an_error(sound: dict[str, str], cluster: Cluster) -> None:
    chosen = sound | {"REDIS_URL": cluster.url}
    assert examined(**chosen)[1]["Redis slots"]["says"].endswith(
        f"{SLOTS} of {SLOTS} served, the cluster's state is ok"
    )
    for one in cluster.nodes:
        one("CLUSTER", "DELSLOTS", SLOT)
    code, found = examined(**chosen)
    assert (code, found["Redis slots"]["level"]) == (1, "error")
    assert f"{SLOTS - 1} of {SLOTS} served" in found["Redis slots"]["says"]


def test_a_primary_of_a_cluster_that_is_away_is_named(sound: dict[str, str], cluster: Cluster) -> None:
    cluster.take_another_away()
    code, found = examined(**sound | {"REDIS_URL": cluster.url})
    assert (code, found["Redis primary"]["level"], found["Redis slots"]["level"]) == (1, "error", "error")
    away = next(one for one in cluster.primaries if one.process.poll() is not None)
    assert found["Redis primary"]["says"].startswith(f"{away.address}: ")


def test_a_primary_that_answers_late_is_not_away(sound: dict[str, str], cluster: Cluster) -> None:
    cluster.primaries[0]("CLIENT", "PAUSE", 7000)  # longer than a process waits, the second try included
    _, found = examined(**sound | {"REDIS_URL": cluster.url})
    assert [one for about, one in found.items() if "Redis" in about and one["level"] == "error"] == []


@pytest.mark.parametrize(
    ("replica", "says"),
    [
        ({"state": "online", "lag": 1}, "1 connected"),
        ({"state": "wait_bgsave", "lag": 0}, "10.0.0.2:6379 is wait_bgsave, last heard of 0 s ago"),
        ({"state": "online", "lag": 60}, "10.0.0.2:6379 is online, last heard of 60 s ago"),
    ],
)
def test_a_replica_that_does_not_follow_is_a_warning(replica: dict[str, object], says: str) -> None:
    told = INFO | {"connected_slaves": 1, "slave0": {"ip": "10.0.0.2", "port": 6379, "offset": 0, **replica}}
    about = {one.about: one for one in check(told)}
    found: Finding = about["Redis replicas"]
    assert (found.says, found.level) == (says, "ok" if says == "1 connected" else "warning")
    assert bad(check(INFO)) == {}, "one server needs none"


async def execute(servers: Servers, *statements: str, on_standby: bool = False) -> None:
    connection: asyncpg.Connection = await servers.connect(servers.standby_run if on_standby else None)
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


async def test_a_standby_that_is_behind_or_awaited_or_taken_for_the_primary(
    sound: dict[str, str], servers: Services
) -> None:
    about, awaited = "PostgreSQL standbys", f"{sound['DATABASE_URL']}&synchronous_commit=on"
    async with standby(servers, settings.get().data_dir) as pair:
        assert examined(**sound | {"DATABASE_URL": awaited})[1][about]["says"] == "1 connected"
        code, found = examined(**sound | {"DATABASE_URL": standby_url(pair)})
        assert (code, found["PostgreSQL role"]["level"]) == (1, "error")
        await execute(pair, "SELECT pg_wal_replay_pause()", on_standby=True)
        written = f"SELECT pg_logical_emit_message(false, 'test', repeat('x', {MEBIBYTES << 20}), true)"
        await execute(pair, written)
        _, found = examined(**sound)
        assert found[about]["level"] == "warning"
        assert f" is {MEBIBYTES} MiB behind (streaming)" in found[about]["says"]
        await execute(pair, "ALTER SYSTEM SET synchronous_standby_names = 'another'", "SELECT pg_reload_conf()")
        try:
            code, found = examined(**sound | {"DATABASE_URL": awaited})
            assert (code, found[about]["level"]) == (1, "error")
            assert "every change waits" in found[about]["says"]
            assert found["changes"]["says"] == "one can be made", "nothing is committed"
            assert examined(**sound)[1][about]["level"] == "warning", "commits that are not waited for"
        finally:
            await execute(pair, "ALTER SYSTEM RESET synchronous_standby_names", "SELECT pg_reload_conf()")


@pytest.fixture
async def other(servers: Services, connected: None) -> AsyncIterator[str]:
    """The address of another database."""
    admin = await asyncpg.connect(servers.database_url)
    await admin.execute("CREATE DATABASE another_installation")
    yield servers.database_url.replace("/leadwire?", "/another_installation?")
    await admin.execute("DROP DATABASE another_installation WITH (FORCE)")
    await admin.close()


async def test_two_installations_on_one_redis_are_an_error_and_the_second_does_not_start(
    sound: dict[str, str], other: str, redis: Redis
) -> None:
    second = sound | {"DATABASE_URL": other}
    name = await installation.ours()
    assert name is not None
    await redis.zadd(installation._KEY, {name: await redis_pool.time(redis) + 3600})  # as a relay that stays
    assert examined(**sound)[1]["Redis installations"]["says"] == "ours alone"
    _, found = examined(**second)
    assert found["Redis installations"]["level"] == "error"
    assert found["Redis installations"]["says"].endswith("/leadwire")
    kept = await redis.keys()
    commands = (("serve", "--port", "0"), ("relay",), ("deliver",), ("background",))
    for result in await asyncio.gather(*(asyncio.to_thread(run, *command, **second) for command in commands)):
        said = refused(result)
        assert "/leadwire uses this Redis, ours is" in said
        assert said.endswith("(LEADWIRE_REDIS_URL)")
    assert await redis.keys() == kept, "nothing is written"
    await installation.leave(redis)
    assert await redis.keys() == []


async def test_two_that_started_at_the_same_time_are_not_ready(redis: Redis) -> None:
    await installation.note(redis)
    assert await installation.alone() is None
    await redis.zadd(installation._KEY, {"1/other": await redis_pool.time(redis)})
    assert await installation.alone() == "another installation uses this Redis"
    await redis.zadd(installation._KEY, {"1/other": await redis_pool.time(redis) - installation._KEPT - 1})
    assert await installation.alone() is None, "it has gone"


async def test_a_clock_of_ours_that_is_wrong_differs_from_both_servers(
    redis: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert [(await look()).level for look in (postgres.clocks, lambda: clocks(redis))] == ["ok", "ok"]
    true = clock.now
    monkeypatch.setattr(clock, "now", lambda: true() - timedelta(hours=2))
    for found in (await postgres.clocks(), await clocks(redis)):
        assert (found.level, found.says.startswith("7200.")) == ("error", True)
        assert "chrony" in found.fix
