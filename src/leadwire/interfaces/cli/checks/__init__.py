"""The checks of `leadwire doctor`: each gives what it found and, for a problem, its fix.

Nothing is changed. A server that is unavailable is a finding like any other, so that one run shows everything.
"""

import asyncio
from collections.abc import Awaitable, Coroutine, Mapping
from typing import Any, Final

from leadwire.delivery.streams import installation
from leadwire.infrastructure import db, redis_pool
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.checks import environment, postgres, redis, sending, work
from leadwire.interfaces.cli.checks.finding import Finding
from leadwire.interfaces.cli.runtime import explain

_PATIENCE: Final = 10.0  # seconds for one check
_IN_THE_WAY: Final = ("Redis Cluster", "Redis primary", "Redis slots")
"""What is wrong with a cluster, or with a client that knows of none, that further commands may fail for."""


async def examine(settings: Settings, environ: Mapping[str, str]) -> list[Finding]:
    """Return every finding about these settings and the servers they name, whose addresses must be set."""
    names: list[str] = []
    return [
        *environment.check(settings, environ),
        *await sending.proxy(settings),
        *await _of_server("PostgreSQL", "LEADWIRE_DATABASE_URL", _database(settings, names)),
        *await _of_server("Redis", "LEADWIRE_REDIS_URL", _redis(settings, names)),
        await sending.mail(settings),
    ]


async def _of_server(name: str, setting: str, look: Coroutine[Any, Any, list[Finding]]) -> list[Finding]:
    try:
        return await look
    except (ValueError, OperatorError) as fault:
        return [Finding(f"{name} address", "error", str(fault), f"correct {setting}")]
    except Exception as fault:
        if (words := explain(fault)) is None:
            raise
        return [Finding(f"{name} answers", "error", words, f"start it, open the way to it, or correct {setting}")]


async def _own(about: str, check: Awaitable[Finding | list[Finding]]) -> list[Finding]:
    """What a check finds, or its own failure: it hides no other, and none waits for it."""
    try:
        async with asyncio.timeout(_PATIENCE):
            found = await check
    except TimeoutError:
        return [Finding(about, "error", f"no answer within {_PATIENCE:g} s", "see `locks`")]
    except Exception as fault:  # noqa: BLE001 - in the worst hour anything may be raised
        says = explain(fault) or f"it cannot be told: {type(fault).__name__}: {fault}"
        return [Finding(about, "error", says, "read the log of PostgreSQL at this moment")]
    return found if isinstance(found, list) else [found]


async def _database(settings: Settings, names: list[str]) -> list[Finding]:
    """Adds the database's name, if it says it, to `names`."""
    try:
        await db.open_pool(settings.database_url, 1)
        pooler = await postgres.connection_pooler()
        if pooler.level == "error":
            return [pooler]
        names += filter(None, [await installation.ours()])
        tables = await _own("migrations", postgres.tables())
        found = [
            pooler,
            *tables,
            *await _own("PostgreSQL settings", postgres.check(settings)),
            *await _own("locks", work.locks()),
            *await _own("changes", work.change()),
            *await _own("archive of the log", work.archiver()),
            *await _own("age of transactions", work.age()),
            *await _own("clock of PostgreSQL", postgres.clocks()),
        ]
        if tables[0].level == "error":
            return found
        return [
            *found,
            *await _own("secret key fits", postgres.secret_key()),
            *await _own("quotas", postgres.workspaces()),
            *await _own("background work", postgres.background()),
            *await _own("client certificates", sending.ending()),
        ]
    finally:
        await db.close_pool()


async def _redis(settings: Settings, names: list[str]) -> list[Finding]:
    redis_pool.connect(settings.redis_url)
    client = redis_pool.require_client()
    try:
        infos = await redis.infos(client)
        servers = [one for server, info in infos.items() for one in redis.check(info, server)]
        if any(one.about in _IN_THE_WAY and one.level == "error" for one in servers):
            return servers
        shared = [await redis.installations(client, name) for name in names]
        return [*servers, *shared, await redis.proxies(client), await redis.clocks(client)]
    finally:
        await redis_pool.close()
