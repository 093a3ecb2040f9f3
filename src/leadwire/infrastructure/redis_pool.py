"""The Redis client of this process: of one server, of a Sentinel group or of a cluster.

Redis may be lost at any time: it makes things quick, never correct.
"""

import asyncio
import contextlib
import contextvars
from collections.abc import AsyncIterator, Coroutine
from typing import Any, Final, cast

import redis.asyncio as redis
from redis.asyncio.client import PubSub
from redis.asyncio.cluster import ClusterNode, RedisCluster
from redis.asyncio.connection import AbstractConnection, SSLConnection, parse_url
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel, SentinelConnectionPool
from redis.backoff import NoBackoff
from redis.exceptions import ReadOnlyError, RedisClusterException, RedisError

from leadwire.infrastructure import redis_direct, server_urls
from leadwire.infrastructure.errors import OperatorError
from leadwire.infrastructure.redis_direct import Client

AWAY = (RedisError, OSError)
"""What is raised when Redis is unavailable or refuses. Callers wait and try again."""

NotPrimary = redis_direct.NotPrimary
"""The server has become a replica."""

PRIMARY_KEY: Final = "leadwire:{deliveries}:primary"
"""What is asked about this key, the server answers that holds the streams."""

# By the server that holds the streams: without it there is nothing to wake anybody for.
_PUBLISH: Final = "for _, channel in ipairs(ARGV) do redis.call('PUBLISH', channel, '') end"
_PATIENCE: Final = 2.0  # seconds for background tasks when the client is closed
# In seconds. Where there are several servers, another may have taken over.
_ONE_TIMES: Final[dict[str, Any]] = {"socket_connect_timeout": 3, "socket_timeout": 10}
_MANY_TIMES: Final[dict[str, Any]] = {"socket_connect_timeout": 1, "socket_timeout": 3}
_FORMS: Final = "redis://HOST, redis+sentinel://HOST,HOST/NAME, redis+cluster://HOST,HOST, unix://PATH"

_client: "redis.Redis | None" = None
_background_tasks: set[asyncio.Task[None]] = set()  # the loop keeps only weak references to tasks


class _ToPrimary(AbstractConnection):
    """After a switch-over the address may mean another server, but connections to the old primary stay open. When one
    of them is refused a write, all are dropped, subscriptions too: each looks the address up again.
    """

    pool: redis.ConnectionPool

    async def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return await super().read_response(*args, **options)
        except ReadOnlyError as error:
            await self.pool.disconnect()
            raise NotPrimary(str(error)) from error


def connect(url: str, patience: float = 0.0) -> None:
    """Make the client of this process. Raise OperatorError for an address that is not one of a Redis."""
    global _client  # noqa: PLW0603 - one pool a process, as for the database
    _client = create_client(url, patience)


def create_client(url: str, patience: float = 0.0) -> "redis.Redis":
    """A client; it connects at the first command. Errors are not retried here: the callers' loops do that.

    `patience`: least seconds for a connection, and for an answer. Raise OperatorError for what is no Redis's address.
    """
    scheme, plus, kind = url.partition(":")[0].lower().partition("+")
    times = {name: max(seconds, patience) for name, seconds in (_MANY_TIMES if plus else _ONE_TIMES).items()}
    try:
        if not plus:
            client = Client.from_url(url, **times, retry=Retry(NoBackoff(), 0), health_check_interval=0)
        elif scheme in {"redis", "rediss"} and kind in _KINDS:
            return _KINDS[kind](url, scheme, times)
        else:
            raise ValueError(f"its form is none of {_FORMS}")
    except (ValueError, TypeError, RedisClusterException) as error:
        raise OperatorError(f"LEADWIRE_REDIS_URL cannot be used: {error}") from error
    return _to_primary(client)


def _to_primary(client: "redis.Redis") -> "redis.Redis":
    pool = client.connection_pool
    pool.connection_class = type("ToPrimary", (pool.connection_class, _ToPrimary), {"pool": pool})
    return client


def _hosts(url: str, scheme: str, port: int) -> tuple[list[tuple[str, int]], str, dict[str, Any]]:
    """The servers that an address names, its path, and the options that are the same for all. Raise ValueError."""
    parts, hosts = server_urls.split(url)
    parsed = [parse_url(f"{scheme}://{parts.netloc}{host}?{parts.query}") for host in hosts]
    if not all("host" in server for server in parsed):
        raise ValueError("a host is missing")
    servers = [(server["host"], server.get("port", port)) for server in parsed]
    options = {name: value for name, value in parsed[0].items() if name not in {"host", "port"}}
    if options.pop("connection_class", None) is SSLConnection:
        options["ssl"] = True
    return servers, parts.path.strip("/"), options


class _SentinelPool(SentinelConnectionPool):
    """Closes the connections to the sentinels as well."""

    async def aclose(self) -> None:
        await super().aclose()
        await self.sentinel_manager.aclose()


def _sentinel(url: str, scheme: str, times: dict[str, Any]) -> "redis.Redis":
    """A client of whichever server the sentinels say is the primary, asked for each connection."""
    servers, name, options = _hosts(url, scheme, 26379)
    if not name or "/" in name:
        raise ValueError("the name of their primary comes after the sentinels: redis+sentinel://HOST,HOST/NAME")
    own = {option: options.pop(f"sentinel_{option}", None) for option in ("username", "password")}
    options = {"retry": Retry(NoBackoff(), 0), **times, **options}
    same = {option: value for option, value in options.items() if option.startswith(("ssl", "socket", "retry"))}
    sentinel = cast(Any, Sentinel)(servers, sentinel_kwargs=same | own, **options)
    return _to_primary(sentinel.master_for(name, Client, _SentinelPool))


class _Cluster(RedisCluster):
    """Makes up for what redis-py 8.1 leaves open."""

    named: dict[str, ClusterNode]
    """The servers of the address."""

    async def initialize(self, *args: Any, **options: Any) -> "_Cluster":
        """Learn which server has which slots, and from one that answers what the commands are. Raise one of AWAY."""
        try:
            await super().initialize(*args, **options)
        except RedisClusterException as error:
            raise redis.ConnectionError(str(error)) from error
        except IndexError as error:  # it has found no servers, and forgotten whom to ask
            self.nodes_manager.startup_nodes.update(self.named)
            raise redis.ConnectionError("no server of the cluster has any slot") from error
        except AWAY:
            if node := getattr(self.commands_parser, "node", None):
                self.nodes_manager.move_node_to_end_of_cached_nodes(node.name)
            raise
        return self

    async def aclose(self) -> None:
        """Close every connection, also after an error, when the slots would be asked for again."""
        await super().aclose()
        await self.nodes_manager.aclose()
        await self.nodes_manager.aclose("startup_nodes")

    def get_node(self, *args: Any, **named: Any) -> ClusterNode:
        """Raise ConnectionError for a server that is not known yet: its first slot is being moved to it."""
        if (node := super().get_node(*args, **named)) is None:
            raise redis.ConnectionError("a slot is being moved to a server that has none yet")
        return node

    async def _determine_slot(self, command: str, *args: Any) -> int:
        """Where the keys of XREADGROUP are, redis-py asks a server each time, and the same one when it is gone. A slot
        that no server has is an error that may pass.
        """
        if command == "XREADGROUP":
            slot = self.keyslot(args[args.index(b"STREAMS") + 1])
        else:
            slot = await super()._determine_slot(command, *args)
        if slot not in self.nodes_manager.slots_cache:
            self._initialize = True
            raise redis.ConnectionError(f"no server of the cluster has slot {slot}")
        return slot


def _cluster(url: str, scheme: str, times: dict[str, Any]) -> "redis.Redis":
    """A client of all primaries of a cluster. It has the same commands, but for what a pipeline takes."""
    servers, path, options = _hosts(url, scheme, 6379)
    if path:
        raise ValueError("a cluster has neither a name nor numbered databases")
    nodes = [ClusterNode(*server) for server in servers]
    # Retried once, or pipelines would never ask anew who has the slots. Some slots may be away, if not the streams'.
    options = {"retry": Retry(NoBackoff(), 1), "require_full_coverage": False, **times, **options}
    cluster = _Cluster(startup_nodes=nodes, **options)
    cluster.named = dict(cluster.nodes_manager.startup_nodes)
    return cast("redis.Redis", cluster)


_KINDS: Final = {"sentinel": _sentinel, "cluster": _cluster}


async def check_primary(client: "redis.Redis") -> None:
    """A write of nothing to the server that holds the streams. Raise NotPrimary for a replica, or one of AWAY."""
    await client.delete(PRIMARY_KEY)


async def check_writes(client: "redis.Redis") -> None:
    """Write something for a second where the streams are. Raise one of AWAY if that is refused: by a replica, or for
    lack of memory.
    """
    await client.set(PRIMARY_KEY, "", px=1000)


async def publish(client: "redis.Redis", *channels: str) -> None:
    """Wake whoever has subscribed to one of these."""
    await client.eval(_PUBLISH, 1, PRIMARY_KEY, *channels)


async def time(client: "redis.Redis") -> float:
    """The clock of the server that holds the streams, in seconds."""
    seconds, microseconds = await client.eval("return redis.call('TIME')", 1, PRIMARY_KEY)
    return int(seconds) + int(microseconds) / 1e6


@contextlib.asynccontextmanager
async def subscription(client: "redis.Redis") -> AsyncIterator[PubSub]:
    """A connection for SUBSCRIBE inside the block. Every server of a cluster hears what is published to another."""
    where: dict[str, Any] = {}
    if isinstance(client, RedisCluster):
        await check_primary(client)  # asks anew who has the slots, if that server is gone
        where = {"node": client.get_node_from_key(PRIMARY_KEY)}
    async with client.pubsub(ignore_subscribe_messages=True, **where) as subscribed:
        yield subscribed


def client() -> "redis.Redis | None":
    """The client, or None in a process that has none."""
    return _client


def require_client() -> "redis.Redis":
    """The client of a process that has one: after `connect`, before `close`."""
    assert _client is not None, "Redis is not connected"  # noqa: S101 - a programming error
    return _client


def run_in_background(work: Coroutine[Any, Any, None]) -> None:
    """Run a short task outside the caller's context, which may hold a transaction. `close` waits for it."""
    task = asyncio.get_running_loop().create_task(work, context=contextvars.Context())
    _background_tasks.add(task)
    task.add_done_callback(_background_tasks.discard)


async def close() -> None:
    """Wait for background tasks, then close every connection. Safe when there is none."""
    global _client
    if _client is not None:
        client, _client = _client, None
        if _background_tasks:
            await asyncio.wait(_background_tasks, timeout=_PATIENCE)
        await client.aclose()
