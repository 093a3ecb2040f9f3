"""The services under load: ours, started here, and its peers, which run already."""

import contextlib
import itertools
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from leadwire.domain.webhooks import changes as webhooks
from leadwire.infrastructure import db, redis_pool
from leadwire.infrastructure.db.migrations import migrate
from leadwire_development.embedded import Services
from ops.bench.api import data
from ops.bench.delivery.process import Process
from ops.bench.race.load import Service

_DATA: Final = '{"race":"MARK","pad":"%s"}' % ("x" * 380)
_OURS: Final = f'{{"custom_fields":{_DATA}}}'
_SVIX: Final = f'{{"eventType":"lead.updated","eventId":"MARK","payload":{_DATA}}}'
_OUTPOST: Final = f'{{"id":"MARK","tenant_id":"race","topic":"lead.updated","eligible_for_retry":true,"data":{_DATA}}}'
_PEERS: Final = {"svix": ("/api/v1/app/race/msg/?with_content=false", _SVIX), "outpost": ("/api/v1/publish", _OUTPOST)}


@contextlib.asynccontextmanager
async def leadwire(running: Services, port: int, receiver: str) -> AsyncIterator[Service]:
    """Ours: one process of each, and one endpoint, `receiver`. A request changes a lead."""
    request = await changes(running.database_url, running.redis_url, receiver)
    serve = Process(f"--port={port}", (sys.executable, "-m", "leadwire", "serve"))
    async with serve, Process("relay") as relay, Process("deliver") as deliver, Process("background") as background:
        pids = {"serve": serve.pid, "relay": relay.pid, "deliver": deliver.pid, "background": background.pid}
        pids |= {name: server.pid() for name, server in running.servers.items()}
        yield Service(("127.0.0.1", port), request, pids, running.database_url, running.redis_url)


async def changes(database_url: str, redis_url: str, receiver: str) -> Callable[[str], bytes]:
    """Create the tables, leads and an endpoint; return what makes the request of a change from a text to contain."""
    await db.open_pool(database_url, 2)
    redis_pool.connect(redis_url)
    await migrate()
    made = await data.fill(1000)
    endpoint = await webhooks.create(made.workspace, receiver, ["lead.updated"])
    await webhooks.enable(made.workspace, endpoint.id)
    await redis_pool.close()
    await db.close_pool()
    paths = itertools.cycle([f"/v1/leads/{lead}" for lead in made.leads])
    return lambda mark: _request("PATCH", next(paths), made.key, _OURS, mark)


def peer(name: str, url: str, key: str, pids: Iterable[int]) -> Service:
    """Another service, whose API is at `url`. The CPU of the processes `pids` counts."""
    (path, body), parts = _PEERS[name], urlsplit(url)
    address = parts.hostname or "127.0.0.1", parts.port or 80
    names = {f"{Path(f'/proc/{pid}/comm').read_text().strip()} {pid}": pid for pid in pids}
    return Service(address, lambda mark: _request("POST", path, key, body, mark), names)


def _request(method: str, path: str, key: str, body: str, mark: str) -> bytes:
    text = body.replace("MARK", mark)
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n{text}".encode()
