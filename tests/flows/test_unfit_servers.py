"""A process on servers that it cannot work with says so in a line, and is not ready."""

from collections.abc import Iterator

import httpx
import pytest
from ops.drills.redis_topologies import Node, Topology

from leadwire.infrastructure import settings
from leadwire_development.embedded import Services
from tests.delivery.elsewhere import standby, standby_url
from tests.flows.commands import Started, free_port
from tests.waiting import until

pytestmark = [pytest.mark.flow, pytest.mark.usefixtures("database")]

KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="


@pytest.fixture
def slotless() -> Iterator[Node]:
    """A server of a cluster that nobody has given any slots."""
    with Topology() as made:
        yield made.node(**{"cluster-enabled": "yes", "cluster-port": str(free_port())})


def wrong(process: Started, port: int) -> dict[str, str]:
    """What a process that is not ready says is wrong, once it answers."""
    assert process.running(), process.err
    try:
        told = httpx.get(f"http://127.0.0.1:{port}/health/ready", timeout=240)
    except httpx.HTTPError:
        return {}
    found = {name: said for name, said in told.json()["checks"].items() if said != "ok"}
    assert bool(found) == (told.status_code == 503)
    return found


@pytest.mark.parametrize("role", ["relay", "deliver"])
def test_a_cluster_without_slots(servers: Services, slotless: Node, role: str) -> None:
    port = free_port()
    addresses = {"DATABASE_URL": servers.database_url, "REDIS_URL": f"redis+cluster://{slotless.address}"}
    process = Started(role, **addresses, SECRET_KEY=KEY, TELEMETRY_PORT=str(port))
    try:
        until(lambda: wrong(process, port).get("redis") == "ConnectionError")
        until(lambda: "no server of the cluster has any slot" in process.err)
        assert '"trace"' not in process.err
        assert slotless("DBSIZE") == 0
    finally:
        process.close()


async def test_a_standby_in_the_place_of_the_primary(servers: Services) -> None:
    port = free_port()
    async with standby(servers, settings.get().data_dir) as pair:
        addresses = {"DATABASE_URL": standby_url(pair), "REDIS_URL": servers.redis_url}
        process = Started("relay", **addresses, SECRET_KEY=KEY, TELEMETRY_PORT=str(port))
        try:
            until(lambda: wrong(process, port).get("writes") == "refused by PostgreSQL: ReadOnlySQLTransactionError")
        finally:
            process.close()
