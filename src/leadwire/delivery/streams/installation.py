"""Which installations use a Redis. There may be one: it takes entries of another for stale, and throws them away."""

import contextlib
from typing import Any, Final

from redis.asyncio import Redis

from leadwire.infrastructure import db, redis_pool
from leadwire.infrastructure.db.statements import sql
from leadwire.infrastructure.errors import OperatorError

_KEY: Final = "leadwire:{deliveries}:installations"  # each with the time at which a relay of it was there last
_KEPT: Final = 15.0  # seconds: a relay notes its own every 5

# The name of this database, the same on all of its servers.
_OURS: Final = sql("SELECT concat_ws('/', system_identifier, current_database()) FROM pg_control_system()")


async def ours() -> str | None:
    """Return the name of the database, or None where the server does not say who it is."""
    try:
        return str(await _OURS.value())
    except db.WITHHELD:
        return None


async def note(redis: Redis) -> int:
    """Note that our installation uses this Redis. Return how many others do. Raise one of `redis_pool.AWAY`."""
    if (name := await ours()) is None:
        return 0
    await redis.zadd(_KEY, {name: await redis_pool.time(redis)})
    await redis.expire(_KEY, int(_KEPT))
    return len(await others(redis, name))


async def leave(redis: Redis) -> None:
    """Forget that it does, if both servers are there: another relay notes it again."""
    with contextlib.suppress(*db.GONE, *redis_pool.AWAY):
        if (name := await ours()) is not None:
            await redis.zrem(_KEY, name)


async def others(redis: Redis, name: str) -> list[str]:
    """Return the other installations that use this Redis now. Raise one of `redis_pool.AWAY`."""
    since = await redis_pool.time(redis) - _KEPT
    keys: list[Any] = await redis.zrangebyscore(_KEY, since, "inf")
    return sorted(other for key in keys if (other := key.decode()) != name)


async def check() -> None:
    """Raise OperatorError when another installation uses this Redis. That Redis is away is no reason not to start."""
    name = await ours()
    if name is None:
        return
    try:
        sharing = await others(redis_pool.require_client(), name)
    except redis_pool.AWAY:
        return
    if sharing:
        raise OperatorError(
            f"the database {sharing[0]} uses this Redis, ours is {name}: give each installation a Redis of its own"
            " (LEADWIRE_REDIS_URL)"
        )


async def alone() -> str | None:
    """Return what is wrong: another installation uses this Redis; or None, also while the database is away."""
    with contextlib.suppress(*db.GONE):
        try:
            await check()
        except OperatorError:
            return "another installation uses this Redis"
    return None
