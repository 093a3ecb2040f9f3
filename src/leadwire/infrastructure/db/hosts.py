"""How a connection finds the primary among several hosts, and how a host that is frozen is noticed."""

import asyncio
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode

import asyncpg
from asyncpg.connect_utils import SessionAttribute

from leadwire.infrastructure import server_urls
from leadwire.infrastructure.db.pool import Pool

_HOST_TIMEOUT: Final = 5.0  # seconds that one of several hosts may take to connect
_AGAIN_TIMEOUT: Final = 1.0  # where it took too long the last time
_ONLY_HOST_TIMEOUT: Final = 10.0
_WATCH_EVERY: Final = 1.0  # seconds
_SILENCE: Final = 4.0  # seconds that a host may take to answer SELECT 1 on a new connection
_GRACE: Final = 0.1  # seconds in which a process that was suspended itself reads what has been answered
_IN_RECOVERY: Final = "SELECT pg_is_in_recovery()"
_NEXT_HOST: Final[tuple[type[BaseException], ...]] = (
    OSError, asyncpg.PostgresConnectionError, asyncpg.InternalClientError, asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
)  # fmt: skip
_NO_ROLE: Final[tuple[type[BaseException], ...]] = (*_NEXT_HOST, asyncpg.PostgresError)
_ANSWERS: Final[tuple[type[BaseException], ...]] = (*_NO_ROLE, asyncpg.InterfaceError, ValueError)


class Hosts:
    """Connects to the one of several hosts that takes changes. The one found last is tried first.

    asyncpg tries hosts too, within one time limit for all: a host that is gone without a packet uses up all of it.
    """

    def __init__(self, url: str) -> None:
        self._urls = host_urls(url)
        self._silent: set[str] = set()  # names of hosts that did not answer
        self.pool: Pool | None = None
        """What the connections are for: it leaves the last primary as soon as that does not answer."""

    async def connect(self, url: str, **options: Any) -> Any:
        """Return a connection. Raise ConnectionError, which says of each host why not, or what one refuses us for."""
        if len(self._urls) < 2:
            return await asyncpg.connect(url, timeout=_ONLY_HOST_TIMEOUT, **options)
        if "target_session_attrs=" not in url:
            options["target_session_attrs"] = SessionAttribute.read_write
        reasons: list[str] = []
        last, finished = next(iter(self._urls)), self.pool and self.pool.finished
        for name, address in self._urls.items():
            timeout = _AGAIN_TIMEOUT if name in self._silent else _HOST_TIMEOUT
            try:
                connection = await asyncpg.connect(address, timeout=timeout, **options)
            except _NEXT_HOST as error:
                reasons.append(f"{name}: {_reason(error, timeout)}")
                if isinstance(error, TimeoutError):
                    was_silent = name in self._silent
                    self._silent.add(name)
                    if name == last and not was_silent and self.pool and self.pool.finished == finished:
                        await self.pool.abandon()  # soon the last primary is another host, and `watch` asks that one
                continue
            self._silent.discard(name)
            self._urls = {name: address, **self._urls}
            return connection
        raise ConnectionError(f"none of the hosts takes changes ({'; '.join(reasons)})")

    async def silent(self) -> bool:
        """Whether the host found last takes a connection and then says nothing, or does not even take it."""
        url = next(iter(self._urls.values()))
        try:
            async with asyncio.timeout(_SILENCE):
                connection = await asyncpg.connect(url, target_session_attrs=SessionAttribute.any)
                try:
                    await connection.execute("SELECT 1")
                finally:
                    connection.terminate()
        except TimeoutError:
            return True
        except _ANSWERS:
            return False
        return False

    def put_last(self) -> None:
        """Try the host found last after all others."""
        name, *others = self._urls
        self._silent.add(name)
        self._urls = {host: self._urls[host] for host in (*others, name)}

    async def roles(self) -> dict[str, str]:
        """What each of several hosts is, by its name: `primary`, `standby`, or why it cannot be told."""
        if len(self._urls) < 2:
            return {}
        roles = await asyncio.gather(*map(_role, self._urls.values()))
        return dict(zip(self._urls, roles, strict=True))


async def watch(pool: Pool, hosts: Hosts) -> None:
    """Leave a server that is frozen: whoever waits for one of its answers gets an error, and the next host is tried.

    Its connections stay open, so nothing else ends the wait: a statement has a limit of up to two minutes, and a COMMIT
    has none, as it may wait for a synchronous standby. Only asked when nothing has ended for a second.
    """
    while True:
        finished = pool.finished
        await asyncio.sleep(_WATCH_EVERY)
        if finished == pool.finished and pool.use()["used"] and await hosts.silent():
            await asyncio.sleep(_GRACE)
            if finished == pool.finished:
                hosts.put_last()
                await pool.abandon()


def host_urls(url: str) -> dict[str, str]:
    """Return a URL for each host that `url` names, by the host's name. What asyncpg cannot read is left to it."""
    parts, hosts = server_urls.split(url)
    if any(hosts):
        return {host: parts._replace(netloc=f"{parts.netloc}{host}").geturl() for host in hosts}
    query = dict(parse_qsl(parts.query))
    names, ports = query.get("host", "").split(","), query.get("port", "").split(",")
    if len(ports) == 1:
        ports *= len(names)
    if len(names) != len(ports):
        return {"": url}
    ours = url.partition("?")[0]
    return {
        f"{name}:{port}": f"{ours}?{urlencode(query | {'host': name, 'port': port})}"
        for name, port in zip(names, ports, strict=True)
    }


async def _role(url: str) -> str:
    try:
        connection = await asyncpg.connect(url, timeout=_HOST_TIMEOUT, target_session_attrs=SessionAttribute.any)
        standby = await connection.fetchval(_IN_RECOVERY, timeout=_HOST_TIMEOUT)
        await connection.close(timeout=_HOST_TIMEOUT)
    except _NO_ROLE as error:
        return _reason(error, _HOST_TIMEOUT)
    return "standby" if standby else "primary"


def _reason(error: BaseException, timeout: float) -> str:
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return "a standby, or read-only"
    if isinstance(error, TimeoutError):
        return f"no answer within {timeout:g} s"
    return str(error) or type(error).__name__
