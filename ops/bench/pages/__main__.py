"""`python -m ops.bench.pages [PATH ...] [--leads N] [--deliveries N] [--rounds N] [--data DIR]`: what screens cost.

Exit 1 when one is slower than it may be. With --data the database is kept in DIR, and used again.
"""

import argparse
import asyncio
import os
import re
import shutil
import statistics
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

import httpx
import msgspec

from leadwire.domain.accounts.changes import team as invitations
from leadwire.domain.accounts.sso import changes as sso
from leadwire.domain.bots import changes as bots
from leadwire.domain.bots.flow import library
from leadwire.domain.bulk_changes import changes as bulk_changes
from leadwire.domain.webhooks import redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.infrastructure import clock, db
from leadwire.infrastructure.db.migrations import migrate
from leadwire.infrastructure.settings import Settings
from leadwire_development.embedded import services
from ops.bench.api import data as database
from ops.bench.api import measure, servers
from ops.bench.api.servers import Program, Running
from ops.bench.pages import past, places

_KEY = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
_EMAIL, _PASSWORD = "ada@example.org", "four quiet grey horses"
_ASSETS = re.compile(r'(?:href|src)="(/assets/[^"]+)"')
_LIMIT = 60  # milliseconds that the slowest 5 % of requests may take
_MESSAGES = 2  # in each conversation: as many as there are leads
_YEAR = timedelta(days=365)
_COLUMNS = ("server p50", "PostgreSQL p50", "clock p50", "p95 ms", "kB")


class Filled(NamedTuple):
    """What is in the database."""

    data: database.Data
    deliveries: int
    known: dict[str, str]


class Cost(NamedTuple):
    """Milliseconds of CPU of the server and of PostgreSQL for each request, of the clock, and kB with all it loads."""

    server: list[float]
    postgres: list[float]
    clock: list[float]
    weight: float


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m ops.bench.pages", description=__doc__)
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--leads", type=int, default=1_000_000)
    parser.add_argument("--deliveries", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--port", type=int, default=8700)
    parser.add_argument("--data", type=Path, metavar="DIR")
    options = parser.parse_args()
    if options.deliveries < 2000:
        parser.error("at least 2,000 deliveries: one in a hundred is dead, and one of those is looked at")
    os.environ["LEADWIRE_SECRET_KEY"] = _KEY  # what --data keeps is sealed with it
    core, _ = measure.cores()
    place = options.data or Path(tempfile.mkdtemp(prefix="leadwire-bench-"))
    place.mkdir(exist_ok=True)
    place.chmod(0o711)
    try:
        with services(Settings(data_dir=place), durable=True) as up:
            told = place / "filled.json"
            known = msgspec.json.decode(told.read_bytes(), type=Filled) if told.exists() else None
            filled, link = asyncio.run(_fill(up.database_url, known, options))
            told.write_bytes(msgspec.json.encode(filled))
            print(
                "{} leads, {} conversations, {} messages,".format(*filled.data.counts), filled.deliveries, "deliveries"
            )
            urls, program = (up.database_url, up.redis_url), servers.leadwire()
            ours = Program(["env", f"LEADWIRE_SECRET_KEY={_KEY}", *program.command], program.folder)
            with servers.running({"leadwire": ours}, urls, filled.data, core, options.port) as (server,):
                found, unknown = places.paths(filled.known)
                slow = _table(server, up.servers["PostgreSQL"].pid(), options.paths or found, link, options.rounds)
            print("", *(f"not looked at: {one}" for one in unknown), sep="\n")
            return 1 if slow or unknown else 0
    finally:
        if not options.data:
            shutil.rmtree(place, ignore_errors=True)


async def _fill(url: str, filled: Filled | None, options: argparse.Namespace) -> tuple[Filled, str]:
    """Make what is not there yet; answers it with a link to join."""
    await db.open_pool(url, 2)
    try:
        await migrate()
        filled = filled or await _made(options)
        await db.rows("DELETE FROM user_account WHERE email = $1", _EMAIL)
        return filled, await invitations.invite(filled.data.workspace, _EMAIL, "admin", operator=True)
    finally:
        await db.close_pool()


async def _made(options: argparse.Namespace) -> Filled:
    data = await database.fill(options.leads, _MESSAGES, clock.now() - _YEAR, _YEAR / options.leads)
    deliveries = await past.make(data.workspace, options.deliveries, options.leads)
    dead = await db.row("SELECT event_id, endpoint_id FROM every_delivery WHERE state = 'dead' LIMIT 1")
    bot = await db.value("SELECT id FROM bot LIMIT 1")
    assert dead
    await bots.save_draft(data.workspace, bot, library.text("lead-qualification"))
    await bots.publish(data.workspace, bot)
    known = {
        "bot_id": bot,
        "lead_id": data.leads[0],
        "conversation_id": data.conversations[0],
        "event_id": dead["event_id"],
        "endpoint_id": dead["endpoint_id"],
        "job_id": (await redrives.start(data.workspace, Selection(), 10)).id,
        "bulk_id": await bulk_changes.begin(
            data.workspace, "user_x", "set", data.leads[:1], clock.iso(clock.now()), "stage"
        ),
        "provider_id": await sso.add(data.workspace, "Company", "https://id.example.com"),
    }
    return Filled(data, deliveries, known)


def _table(server: Running, postgres: int, paths: list[str], link: str, rounds: int) -> list[str]:
    """Print the cost of each; answers which are too slow."""
    print("\n{:58} {:>10} {:>14} {:>9} {:>8} {:>7}".format("screen", *_COLUMNS))
    slow, site = [], f"http://127.0.0.1:{server.port}"
    with httpx.Client(base_url=site, headers={"Accept": "text/html"}, timeout=60) as client:
        joined = client.post(f"/join/{link}", data={"email": _EMAIL, "password": _PASSWORD})
        assert joined.status_code == 303, joined.text
        for path in paths:
            first = client.get(path)
            if first.is_redirect:
                print(f"{_short(path):58} leads to {_short(first.headers['location'])}")
                continue
            first.raise_for_status()
            cost = _cost(client, server.pid, postgres, path, rounds)
            if (p95 := sorted(cost.clock)[int(rounds * 0.95) - 1]) > _LIMIT:
                slow.append(path)
            middle = [statistics.median(values) for values in cost[:3]]
            line = "{:58} {:10.1f} {:14.1f} {:9.1f} {:8.1f}{}{:7.1f}"
            print(line.format(_short(path), *middle, p95, "!" if p95 > _LIMIT else " ", cost.weight), flush=True)
    return slow


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


def _short(path: str) -> str:
    """Ids cut, so that a line is one."""
    return re.sub(r"_[0-9a-z]{20,}", "_…", path)[:58]


if __name__ == "__main__":
    sys.exit(main())
