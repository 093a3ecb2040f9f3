"""Which workers there are, and for how long they have held what they took from the streams."""

from typing import Final

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from leadwire.delivery import streams

ALIVE: Final = 30.0
"""Seconds since it last asked for work within which a consumer counts as alive."""


async def longest_held(redis: Redis, shards: int) -> list[float]:
    """Return for how many seconds an entry of each stream has been held at most, among its oldest 100 entries."""
    found = []
    for stream in streams.names(shards):
        try:
            held = await redis.xpending_range(stream, streams.GROUP, "-", "+", 100)
        except ResponseError:
            held = []  # no such stream or group yet
        found.append(max((int(one["time_since_delivered"]) for one in held), default=0) / 1000)
    return found


async def alive(redis: Redis, shards: int) -> dict[str, float]:
    """Return the consumers that asked for work within `ALIVE`, and the seconds since each did."""
    return {name: seconds for name, seconds in (await consumers(redis, shards)).items() if seconds < ALIVE}


async def consumers(redis: Redis, shards: int) -> dict[str, float]:
    """Return every consumer's name and the seconds since it last asked for something."""
    idle: dict[str, float] = {}
    for stream in streams.names(shards):
        try:
            known = await redis.xinfo_consumers(stream, streams.GROUP)
        except ResponseError:
            continue  # no such stream or group yet
        for consumer in known:
            name = consumer["name"].decode()
            idle[name] = min(idle.get(name, 1e9), consumer["idle"] / 1000)
    return idle
