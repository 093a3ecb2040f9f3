"""`python -m ops.bench.pages [--leads N] [--deliveries N] [--rounds N]`: CPU, size and time of each screen."""

import argparse
import asyncio
import re
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import httpx

from leadwire.development.embedded import services
from leadwire.domain.accounts.changes import invitations
from leadwire.infrastructure import db
from leadwire.infrastructure.db.migrations import migrate
from leadwire.infrastructure.settings import Settings
from ops.bench.api import data as database
from ops.bench.api import measure, servers
from ops.bench.api.servers import Running
from ops.bench.pages import past

_PASSWORD = "four quiet grey horses"
_ASSETS = re.compile(r'(?:href|src)="(/assets/[^"]+)"')


class Cost(NamedTuple):
    """Milliseconds of CPU of the server and of PostgreSQL for each request, of the clock, and kB with all it loads."""

    server: list[float]
    postgres: list[float]
    clock: list[float]
    weight: float


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m ops.bench.pages", description=__doc__)
    parser.add_argument("--leads", type=int, default=100_000)
    parser.add_argument("--deliveries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--port", type=int, default=8700)
    options = parser.parse_args()
    if options.deliveries < 2000:
        parser.error("at least 2,000 deliveries: one in a hundred is dead, and one of those is looked at")
    core, _ = measure.cores()
    place = Path(tempfile.mkdtemp(prefix="leadwire-bench-"))
    place.chmod(0o711)
    try:
        with services(Settings(data_dir=place), durable=True) as up:
            data, paths, link, count = asyncio.run(_fill(up.database_url, options))
            print(
                f"{data.counts[0]} leads, {data.counts[1]} conversations, {data.counts[2]} messages, {count} deliveries"
            )
            urls = (up.database_url, up.redis_url)
            with servers.running({"leadwire": servers.leadwire()}, urls, data, core, options.port) as (server,):
                _table(server, up.servers["PostgreSQL"].pid(), paths, link, options.rounds)
    finally:
        shutil.rmtree(place, ignore_errors=True)


async def _fill(url: str, options: argparse.Namespace) -> tuple[database.Data, dict[str, str], str, int]:
    await db.open_pool(url, 2)
    try:
        await migrate()
        data = await database.fill(options.leads)
        count = await past.make(data.workspace, options.deliveries)
        endpoint = await db.value("SELECT id FROM webhook_endpoint LIMIT 1")
        delivery = await db.row("SELECT event_id, endpoint_id FROM every_delivery WHERE state = 'dead' LIMIT 1")
        link = await invitations.invite(data.workspace, "ada@example.org", "admin")
    finally:
        await db.close_pool()
    assert delivery
    return data, _paths(data, endpoint, f"{delivery['event_id']}/{delivery['endpoint_id']}"), link, count


def _paths(data: database.Data, endpoint: str, delivery: str) -> dict[str, str]:
    return {
        "overview": "/",
        "leads": "/leads",
        "leads, searched": "/leads?q=example",
        "lead": f"/leads/{data.leads[0]}",
        "conversations": "/conversations",
        "conversation": f"/conversations/{data.conversations[0]}",
        "endpoints": "/webhooks",
        "endpoint": f"/webhooks/{endpoint}",
        "deliveries": "/deliveries",
        "deliveries, failed": "/deliveries?outcome=http_5xx",
        "deliveries, of one lead": f"/deliveries?subject={data.leads[0]}",
        "deliveries, under way": "/deliveries?stage=unfinished",
        "delivery": f"/deliveries/{delivery}",
        "dead letters": "/dead-letters",
        "keys": "/keys",
        "audit log": "/audit",
        "team": "/team",
        "system": "/system",
    }


def _table(server: Running, postgres: int, paths: dict[str, str], link: str, rounds: int) -> None:
    print(
        f"\n{'screen':26} {'server p50':>10} {'p95':>8} {'PostgreSQL p95':>15} {'clock p95':>10} {'weight':>9} ms, kB"
    )
    with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", headers={"Accept": "text/html"}) as client:
        joined = client.post(f"/join/{link}", data={"email": "ada@example.org", "password": _PASSWORD})
        assert joined.status_code == 303, joined.text
        for name, path in paths.items():
            if client.get(path).status_code == 404:
                print(f"{name:26} (not there)")
                continue
            cost = _cost(client, server.pid, postgres, path, rounds)
            print(
                f"{name:26} {statistics.median(cost.server):10.1f} {_p95(cost.server):8.1f} {_p95(cost.postgres):15.1f}"
                f" {_p95(cost.clock):10.1f} {cost.weight:9.1f}"
            )


def _cost(client: httpx.Client, pid: int, postgres: int, path: str, rounds: int) -> Cost:
    found = Cost([], [], [], _weight(client, path))
    for _ in range(rounds):
        before, theirs, start = measure.cpu(pid), measure.cpu(postgres), time.perf_counter()
        client.get(path).raise_for_status()
        found.clock.append((time.perf_counter() - start) * 1e3)
        found.server.append((measure.cpu(pid) - before) * 1e3)
        found.postgres.append((measure.cpu(postgres) - theirs) * 1e3)
    return found


def _weight(client: httpx.Client, path: str) -> float:
    page = client.get(path)
    parts = [client.get(address.replace("&amp;", "&")) for address in sorted(set(_ASSETS.findall(page.text)))]
    return sum(len(part.content) for part in [page, *parts]) / 1000


def _p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95) - 1]


if __name__ == "__main__":
    main()
