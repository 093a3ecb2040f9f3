"""The checks of `leadwire doctor`: each gives what it found and, for a problem, its fix.

Nothing is changed. A server that is unavailable is a finding like any other, so that one run shows everything. Checks
run side by side until one deadline: what has not finished by then is a finding, too.
"""

import asyncio
from collections.abc import Coroutine, Mapping
from typing import Any, Final

from redis.asyncio import Redis

from leadwire.delivery.monitoring import reach
from leadwire.delivery.streams import installation
from leadwire.infrastructure import db, redis_pool
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.settings import Settings
from leadwire.interfaces.cli.checks import egress, environment, postgres, redis, sending, work
from leadwire.interfaces.cli.checks.finding import Finding
from leadwire.interfaces.cli.runtime import explain

_Check = Coroutine[Any, Any, Finding | list[Finding]]

_CONNECTIONS: Final = 5
_CLEAN_UP: Final = 2.0  # seconds for the servers to cancel what has not finished
_SHARE: Final = 0.25  # of the time, for one answer of Redis: a busy machine is not taken for a server that is away
_MOMENT: Final = 1.0  # seconds; before the deadline, for who makes others wait to be told
_FIX: Final = "see `locks`; where it names nobody, the server is slow or frozen: look at its host and its log"
_IN_THE_WAY: Final = ("Redis address", "Redis answers", "Redis Cluster", "Redis primary", "Redis slots")
"""What is wrong with a server, or with a client that knows of no cluster, that further commands may fail for."""
_SETTINGS: Final = {"PostgreSQL": "LEADWIRE_DATABASE_URL", "Redis": "LEADWIRE_REDIS_URL"}


async def examine(
    settings: Settings, environ: Mapping[str, str], way_out: str | None = None, within: float = 15.0
) -> list[Finding]:
    """Return every finding about these settings and the servers they name, whose addresses must be set.

    `way_out`: a host that must be reached; empty: those of the endpoints that were tried lately; None: none. What takes
    longer than `within` seconds is named as not finished.
    """
    return [*environment.check(settings, environ), *await _Examination(settings, within).findings(way_out)]


class _Examination:
    """The checks that take time, side by side."""

    def __init__(self, settings: Settings, within: float) -> None:
        self._settings = settings
        self._within = within
        self._until = asyncio.get_running_loop().time() + within
        self._checks: dict[str, asyncio.Task[list[Finding]]] = {}
        self._turns = asyncio.Semaphore(_CONNECTIONS - 1)  # `locks` has a connection when all others wait
        self._named: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        self._migrated: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

    async def findings(self, way_out: str | None) -> list[Finding]:
        """Return what each check has found by the deadline; the rest is canceled."""
        self._start("egress proxy", sending.proxy(self._settings))
        self._start("mail server", sending.mail(self._settings))
        self._start("PostgreSQL hosts", postgres.hosts(self._settings.database_url))  # also where none is the primary
        if way_out:
            self._start("egress", egress.check(self._settings, [way_out]))
        servers = self._postgres(lately=way_out == ""), self._redis()
        tasks = {*self._checks.values(), *map(asyncio.create_task, servers)}
        await asyncio.wait(tasks, timeout=self._within)
        findings = [finding for about in self._checks for finding in self._found(about)]
        for task in tasks.union(self._checks.values()):
            task.cancel()
        await asyncio.wait({*tasks, asyncio.create_task(_close())}, timeout=_CLEAN_UP)
        return findings

    def _start(self, about: str, check: _Check) -> "asyncio.Task[list[Finding]]":
        self._checks[about] = task = asyncio.create_task(_own(about, check))
        return task

    def _found(self, about: str) -> list[Finding]:
        if (check := self._checks[about]).done():
            return check.result()
        return [Finding(about, "error", f"not finished in {self._within:g} s", _FIX)]

    async def _postgres(self, *, lately: bool) -> None:
        try:
            await asyncio.wait([self._start("PostgreSQL answers", _of_server("PostgreSQL", self._connect()))])
            if self._named.done():
                await self._ask_postgres(lately=lately)
        finally:
            if not self._named.done():
                self._named.set_result(None)
            if not self._migrated.done():
                self._migrated.set_result(False)

    async def _connect(self) -> list[Finding]:
        """Open the pool, and name the database, unless nothing can be done through what is between."""
        await db.open_pool(self._settings.database_url, _CONNECTIONS)
        pooler = await postgres.connection_pooler()
        if pooler.level != "error":
            self._named.set_result(await installation.ours())
        return [pooler]

    async def _ask_postgres(self, *, lately: bool) -> None:
        """Run the checks of the server, and those of its rows when the tables are what they should be."""
        loop, end = asyncio.get_running_loop(), self._until - _MOMENT
        tables = self._start("migrations", postgres.tables())
        of_server: dict[str, _Check] = {
            "changes": work.change(),
            "PostgreSQL settings": postgres.check(self._settings),
            "archive of the log": work.archiver(),
            "age of transactions": work.age(),
            "space": work.space(),
            "clock of PostgreSQL": postgres.clocks(),
        }
        others = [tables, *self._in_turn(of_server)]
        locks = self._start(
            "locks", work.locks(lambda: loop.time() < end and not all(other.done() for other in others))
        )
        await asyncio.wait([tables])
        self._migrated.set_result(all(finding.level != "error" for finding in tables.result()))
        if self._migrated.result():
            others += self._in_turn(_of_rows(self._settings))
            if lately:
                others += self._in_turn({"egress": self._lately()})
        await asyncio.wait([*others, locks])

    def _in_turn(self, checks: Mapping[str, _Check]) -> "list[asyncio.Task[list[Finding]]]":
        async def turn(check: _Check) -> Finding | list[Finding]:
            try:
                async with self._turns:
                    return await check
            finally:
                check.close()  # its turn may never have come

        return [self._start(about, turn(check)) for about, check in checks.items()]

    async def _lately(self) -> list[Finding]:
        return await egress.check(self._settings, await reach.lately())

    async def _redis(self) -> None:
        answers = self._start("Redis answers", _of_server("Redis", self._infos()))
        await asyncio.wait([answers])
        if any(finding.about in _IN_THE_WAY and finding.level == "error" for finding in answers.result()):
            return
        client = redis_pool.require_client()
        checks: dict[str, _Check] = {
            "Redis installations": self._installations(client),
            "requests forwarded": redis.proxies(client),
            "clock of Redis": redis.clocks(client),
        }
        conditions = self._in_turn({"conditions": self._conditions()})
        await asyncio.wait([*conditions, *(self._start(about, check) for about, check in checks.items())])

    async def _infos(self) -> list[Finding]:
        redis_pool.connect(self._settings.redis_url, self._within * _SHARE)
        infos = await redis.infos(redis_pool.require_client())
        return [finding for server, info in infos.items() for finding in redis.check(info, server)]

    async def _conditions(self) -> list[Finding]:
        return await work.firing(self._within) if await self._migrated else []

    async def _installations(self, client: Redis) -> list[Finding]:
        name = await self._named
        return [await redis.installations(client, name)] if name else []


async def _close() -> None:
    await db.close_pool()
    await redis_pool.close()


def _of_rows(settings: Settings) -> dict[str, _Check]:
    return {
        "role of the service": postgres.role(),
        "dead rows": work.dead_rows(),
        "search": work.search(),
        "secret key fits": postgres.secret_key(),
        "quotas": postgres.workspaces(),
        "operators": postgres.operators(settings),
        "domains": postgres.email_domains(),
        "background work": postgres.background(),
        "client certificates": sending.ending(),
    }


async def _of_server(name: str, look: Coroutine[Any, Any, list[Finding]]) -> list[Finding]:
    """What the first look at a server finds; it may not answer, and its address may be wrong."""
    setting = _SETTINGS[name]
    try:
        return await look
    except (ValueError, OperatorError) as fault:
        return [Finding(f"{name} address", "error", str(fault), f"correct {setting}")]
    except Exception as fault:
        if (words := explain(fault)) is None:
            raise
        fix = f"start it, open the way to it, make room where its disk is full, or correct {setting}"
        return [Finding(f"{name} answers", "error", words, fix)]


async def _own(about: str, check: _Check) -> list[Finding]:
    """What a check finds, or its own failure, which hides no other."""
    try:
        finding = await check
    except Exception as fault:  # noqa: BLE001 - in the worst hour anything may be raised
        says = explain(fault) or f"it cannot be told: {type(fault).__name__}: {fault}"
        return [Finding(about, "error", says, "read the log of PostgreSQL at this moment")]
    return finding if isinstance(finding, list) else [finding]
