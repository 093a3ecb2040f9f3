"""Limits that hold at once: as for passwords, in all processes together, with Redis and without."""

import asyncio

import pytest

from leadwire.infrastructure import redis_pool
from leadwire.infrastructure.rate_limit import RateLimit


async def taken(limit, times):
    return sum(await asyncio.gather(*(limit.take_at_once("ada") for _ in range(times))))


async def test_two_processes_share_the_tokens(redis):
    one, other = (RateLimit("test", 5, window=300) for _ in range(2))
    assert await taken(one, 3) + await taken(other, 10) == 5
    assert await one.take_at_once("bob")


@pytest.mark.refill
@pytest.mark.parametrize(("seconds", "back"), [(59, 0), (61, 1), (10_000, 5), (-10_000, 5)])
async def test_a_token_comes_back_a_minute_and_refused_tries_cost_nothing(redis, seconds, back):
    limit = RateLimit("test", 5, window=300)
    assert await taken(limit, 20) == 5
    (key,) = await redis.keys("leadwire:rate:test:*")
    await redis.hincrbyfloat(key, "at", -seconds)
    assert await taken(limit, 20) == back


async def test_after_a_reset_there_are_all_of_them_again(redis):
    limit = RateLimit("test", 5, window=300)
    await taken(limit, 5)
    await limit.reset("ada")
    assert await taken(limit, 6) == 5


async def test_without_redis_the_process_counts_by_itself(redis, monkeypatch):
    monkeypatch.setattr(redis_pool, "client", lambda: None)
    limit = RateLimit("test", 5, window=300)
    assert await taken(limit, 20) == 5
    await limit.reset("ada")
    assert await limit.take_at_once("ada")
