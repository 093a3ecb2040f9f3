"""The full check of the ledger: once a day, when asked for, by one process, and nothing waits for it."""

import asyncio
import time

import pytest
from redis.exceptions import TimeoutError as RedisTimeoutError

from leadwire.delivery import streams
from leadwire.delivery.monitoring import invariants, ledger
from leadwire.infrastructure import db, redis_pool, settings

SILENCE = redis_pool._ONE_TIMES["socket_timeout"]  # seconds until a Redis that does not answer is given up


@pytest.fixture
def check(redis):
    return lambda: ledger.check_if_due(redis, settings.get())


async def test_it_is_made_once_a_day_and_when_asked_for(check, db_clock):
    assert (await ledger.last()).due
    await check()
    first = await ledger.last()
    assert (first.due, first.result.redis_was_there) == (False, True)
    assert not any(one.broken for one in first.result.checks)
    await db_clock.forward(23 * 3600)
    await check()
    assert await ledger.last() == first
    await ledger.ask()
    assert await ledger.last() == ledger.Last(first.at, first.result, due=True)
    await check()
    second = await ledger.last()
    assert (second.due, second.at > first.at) == (False, True)
    await db_clock.forward(25 * 3600)
    await check()
    assert (await ledger.last()).at > second.at


async def test_one_process_makes_it_and_what_is_asked_for_meanwhile_follows(check, monkeypatch):
    began, go_on, made = asyncio.Event(), asyncio.Event(), []
    whole = invariants.check

    async def slow(*given):
        made.append(given)
        began.set()
        await go_on.wait()
        return await whole(*given)

    monkeypatch.setattr(invariants, "check", slow)
    first = asyncio.create_task(check())
    await asyncio.wait_for(began.wait(), 60)
    await check()
    # It has no number of a transaction, so it holds back nobody who reads the outbox.
    open_ones = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"
    assert (len(made), await db.value(open_ones)) == (1, 0)
    await ledger.ask()
    go_on.set()
    await asyncio.wait_for(first, 60)
    assert (await ledger.last()).due
    await check()
    assert (len(made), (await ledger.last()).due) == (2, False)


async def test_a_relay_that_stops_waits_for_no_check(redis, monkeypatch):
    began, stop = asyncio.Event(), asyncio.Event()

    async def endless(*_):
        began.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(invariants, "check", endless)
    running = asyncio.create_task(ledger.run(stop, redis, settings.get()))
    await asyncio.wait_for(began.wait(), 60)
    stop.set()
    await asyncio.wait_for(running, 60)
    assert (await ledger.last()).result is None


async def test_a_check_that_fails_late_is_not_made_again_at_once(redis, monkeypatch):
    times, again, stop = [], asyncio.Event(), asyncio.Event()

    async def failing(*_):
        times.append(time.monotonic())
        if len(times) == 3:
            again.set()
        await asyncio.sleep(0.5)
        times.append(time.monotonic())
        raise OSError

    monkeypatch.setattr(invariants, "check", failing)
    running = asyncio.create_task(ledger.run(stop, redis, settings.get()))
    await asyncio.wait_for(again.wait(), 60)
    stop.set()
    await asyncio.wait_for(running, 60)
    began, failed, began_again = times[:3]
    assert began_again - failed >= failed - began


@pytest.fixture
async def relay_pool(redis, servers):
    """The connections that a relay has, where a transaction may idle for some seconds only."""
    await db.close_pool()
    await db.open_pool(servers.database_url, 2, role="engine", indexes_only=True)
    yield
    await db.close_pool()
    await db.open_pool(f"{servers.database_url}&search_path=public,test_clock,pg_catalog", 10)


async def test_a_redis_that_does_not_answer_keeps_no_check_from_its_end(relay_pool, check, monkeypatch):
    may_idle = "SELECT current_setting('idle_in_transaction_session_timeout')::interval"
    usual, asked = await db.value(may_idle), []

    async def frozen(*_):
        asked.append(await db.value(may_idle))
        raise RedisTimeoutError

    monkeypatch.setattr(streams, "states", frozen)
    await check()
    assert usual.total_seconds() < SILENCE < min(asked).total_seconds()
    last = await ledger.last()
    assert (last.due, last.result.redis_was_there) == (False, False)
