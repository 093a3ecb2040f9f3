"""The checks of `leadwire doctor`: each gives what it found and, for a problem, its fix.

Nothing is changed. A server that is unavailable is a finding like any other, so that one run shows everything. Checks
run side by side: while a lock is held, all that need the table end with it.
"""

import asyncio
from collections.abc import Awaitable, Coroutine, Mapping
from typing import Any, Final

from leadwire.delivery.monitoring import reach
from leadwire.delivery.streams import installation
from leadwire.infrastructure import db, redis_pool
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.checks import egress, environment, postgres, redis, sending, work
from leadwire.interfaces.cli.checks.finding import Finding
from leadwire.interfaces.cli.runtime import explain

_Check = Awaitable[Finding] | Awaitable[list[Finding]]

_PATIENCE: Final = 10.0  # seconds for the checks of a database, which run side by side
_CONNECTIONS: Final = 4
_IN_THE_WAY: Final = ("Redis Cluster", "Redis primary", "Redis slots")
"""What is wrong with a cluster, or with a client that knows of none, that further commands may fail for."""


async def examine(settings: Settings, environ: Mapping[str, str], way_out: str | None = None) -> list[Finding]:
    """Return every finding about these settings and the servers they name, whose addresses must be set.

    `way_out`: a host that must be reached; empty: those of the endpoints that were tried lately; None: none.
    """
    names: list[str] = []
    urls: list[str] = [way_out] if way_out else []

    async def servers() -> list[Finding]:
        lately = urls if way_out == "" else None
        return [
            *await _of_server("PostgreSQL", "LEADWIRE_DATABASE_URL", _database(settings, names, lately)),
            *await _of_server("Redis", "LEADWIRE_REDIS_URL", _redis(settings, names)),
        ]

    proxy, found, mail = await asyncio.gather(sending.proxy(settings), servers(), sending.mail(settings))
    reached = [] if way_out is None else await egress.check(settings, urls)
    return [*environment.check(settings, environ), *proxy, *found, mail, *reached]


async def _of_server(name: str, setting: str, look: Coroutine[Any, Any, list[Finding]]) -> list[Finding]:
    try:
        return await look
    except (ValueError, OperatorError) as fault:
        return [Finding(f"{name} address", "error", str(fault), f"correct {setting}")]
    except Exception as fault:
        if (words := explain(fault)) is None:
            raise
        return [Finding(f"{name} answers", "error", words, f"start it, open the way to it, or correct {setting}")]


async def _each(checks: Mapping[str, _Check]) -> list[Finding]:
    """Everything that these checks find, side by side."""
    found = await asyncio.gather(*(_own(about, check) for about, check in checks.items()))
    return [one for findings in found for one in findings]


async def _own(about: str, check: _Check) -> list[Finding]:
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


async def _database(settings: Settings, names: list[str], urls: list[str] | None) -> list[Finding]:
    """Adds the database's name, if it says it, to `names`, and to `urls` those that were tried lately."""
    try:
        await db.open_pool(settings.database_url, _CONNECTIONS)
        pooler = await postgres.connection_pooler()
        if pooler.level == "error":
            return [pooler]
        names += filter(None, [await installation.ours()])
        found = await _each(
            {
                "locks": work.locks(),
                "changes": work.change(),
                "migrations": postgres.tables(),
                "PostgreSQL settings": postgres.check(settings),
                "archive of the log": work.archiver(),
                "age of transactions": work.age(),
                "space": work.space(),
                "clock of PostgreSQL": postgres.clocks(),
            }
        )
        if any(one.about == "migrations" and one.level == "error" for one in found):
            return [pooler, *found]
        later: dict[str, _Check] = {
            "dead rows": work.dead_rows(),
            "search": work.search(),
            "secret key fits": postgres.secret_key(),
            "quotas": postgres.workspaces(),
            "background work": postgres.background(),
            "client certificates": sending.ending(),
        }
        if urls is not None:
            later["egress"] = _tried(urls)
        return [pooler, *found, *await _each(later)]
    finally:
        await db.close_pool()


async def _tried(urls: list[str]) -> list[Finding]:
    urls += await reach.lately()
    return []


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
