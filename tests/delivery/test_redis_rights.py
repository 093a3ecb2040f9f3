"""Redis as a user who has the rights that the documentation names, and no others; by TLS where a server knows it."""

import asyncio
import re
from pathlib import Path

import pytest
import trustme
from ops.drills import redis_topologies

from leadwire.delivery import streams
from leadwire.delivery.monitoring import status
from leadwire.delivery.monitoring.observer import Observer
from leadwire.delivery.streams import Key, consumers
from leadwire.domain.conversations import pubsub
from leadwire.infrastructure import db, ids
from leadwire.infrastructure.rate_limit import RateLimit
from leadwire.infrastructure.settings import Settings
from leadwire.infrastructure.telemetry.health import Health
from leadwire.interfaces.cli.checks import redis as checks
from tests.waiting import eventually

README = Path(__file__).parents[2] / "ops" / "deploy" / "README.md"
RIGHTS, IN_CLUSTER, OF_SENTINEL = re.findall("^ACL SETUSER .+$", README.read_text(), re.MULTILINE)

pytestmark = [
    pytest.mark.flow,
    pytest.mark.filterwarnings("ignore:unclosed <StreamWriter:ResourceWarning"),
    pytest.mark.filterwarnings("ignore:unclosed Connection <redis:ResourceWarning"),
]


def granted(rule: str) -> set[str]:
    return {word[1:] for word in rule.split() if word.startswith("+")}


def for_version(rule: str, server: redis_topologies.Node) -> str:
    """Without what the README says that an older server does not know."""
    version = server("INFO", "server")["redis_version"]
    return rule if version >= "7.2" else rule.replace(" +client|setinfo", "")


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Path | None:
    """A directory with a certificate and who has signed it; None where no server knows TLS."""
    if redis_topologies.program(tls=True) is None:
        return None
    directory = tmp_path_factory.mktemp("tls")
    ca = trustme.CA()
    ca.cert_pem.write_to_path(directory / "ca.pem")
    ca.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(directory / "server.pem")
    return directory


@pytest.fixture(params=["single", "sentinel", "cluster"])
def group(request: pytest.FixtureRequest, tls: Path | None):
    with redis_topologies.topology(request.param, tls) as made:
        for one in made.nodes:
            sentinel = one in getattr(made, "sentinels", ())
            one(*for_version(OF_SENTINEL if sentinel else RIGHTS, one).split())
            if request.param == "cluster":
                one(*IN_CLUSTER.split())
            one("ACL", "LOG", "RESET")
        scheme, _, rest = made.url.partition("://")
        credentials = "&sentinel_username=leadwire&sentinel_password=PASSWORD" if request.param == "sentinel" else ""
        database = "" if request.param == "cluster" else "&db=1"
        if tls:
            scheme, credentials = scheme.replace("redis", "rediss", 1), f"&ssl_ca_certs={tls / 'ca.pem'}{credentials}"
        made.url = f"{scheme}://leadwire:PASSWORD@{rest}?{credentials}{database}".replace("?&", "?")
        yield made


async def test_everything_works_with_the_rights_that_are_documented_and_each_is_needed(group, use, lead_after_lead):
    client = use(group)
    await lead_after_lead(client, lambda: None)
    assert (await Health(needs_redis=True).report()).ready
    await status.read(client, 4, finished=True)
    for info in (await checks.infos(client)).values():
        assert checks.check(info)
    await checks.clocks(client)
    await checks.proxies(client)
    await observed(client)
    await limited()
    await woken()
    await taken_over(client)

    used: set[str] = set()
    for one in group.nodes:  # sentinels do not tell what they were asked
        assert one("ACL", "LOG") == []
        used |= {name.removeprefix("cmdstat_") for name in one("INFO", "commandstats")}
    needed = granted(for_version(RIGHTS, group.nodes[0]))
    if isinstance(group, redis_topologies.Cluster):
        needed = (needed | granted(IN_CLUSTER)) - {"select"}
    assert needed - used == set()


async def observed(client) -> None:
    """The relay that observes, and another one beside it."""
    one, two = (Observer(client, Settings()) for _ in range(2))
    assert await one._has_lease()
    assert await one._has_lease()
    assert not await two._has_lease()


async def limited() -> None:
    limit = RateLimit("test", 5, window=300)
    assert sum([await limit.take_at_once("ada") for _ in range(9)]) == 5
    await limit.reset("ada")


async def woken() -> None:
    listening = asyncio.create_task(pubsub.hub.listen())
    with pubsub.hub.watch("ws_1", "cv_1") as watch:
        await eventually(watch.is_set)  # the subscription is there
        watch.clear()
        async with db.transaction():
            pubsub.publish("ws_1", "cv_1")
        assert await watch.changed(240)
    listening.cancel()
    await asyncio.wait([listening])


async def taken_over(client) -> None:
    """What a worker that died has held."""
    await streams.prepare(client, 1)
    await streams.add(client, [Key(ids.new("evt"), ids.new("we"), 0)], 1)
    assert len(await streams.read(client, "one", 1, 10, None)) == 1
    found = await consumers.reclaim(client, "two", 1, 0, 10, {"one"})
    await streams.done(client, found.taken)
    await consumers.leave(client, "one", 1)
