"""The full check of the ledger: once a day, when asked for, by one process, and nothing waits for it."""

import asyncio

import pytest
from redis.exceptions import TimeoutError as RedisTimeoutError

from leadwire.delivery import streams
from leadwire.delivery.monitoring import full_check, ledger
from leadwire.infrastructure import db, redis_pool, settings
from tests import jobs
from tests.delivery.elsewhere import moved_to

SILENCE = redis_pool._ONE_TIMES["socket_timeout"]  # seconds until a Redis that does not answer is given up


@pytest.fixture
def check(redis):
    return lambda: jobs.run("ledger")


async def test_it_is_made_once_a_day_and_when_asked_for(check, db_clock):
    assert (await full_check.last()).due
    await check()
    first = await full_check.last()
    assert (first.due, first.result.redis_was_there) == (False, True)
    assert not any(one.broken for one in first.result.checks)
    await db_clock.forward(23 * 3600)
    await check()
    assert await full_check.last() == first
    await full_check.ask()
    assert await full_check.last() == full_check.Last(first.at, first.result, due=True)
    await check()
    second = await full_check.last()
    assert (second.due, second.at > first.at) == (False, True)
    await db_clock.forward(25 * 3600)
    await check()
    assert (await full_check.last()).at > second.at


async def test_one_process_makes_it_and_what_is_asked_for_meanwhile_follows(check, monkeypatch):
    began, go_on, made = asyncio.Event(), asyncio.Event(), []
    whole = ledger.check

    async def slow(*given, **more):
        made.append(given)
        began.set()
        await go_on.wait()
        return await whole(*given, **more)

    monkeypatch.setattr(ledger, "check", slow)
    first = asyncio.create_task(check())
    await asyncio.wait_for(began.wait(), 240)
    await check()
    # It has no number of a transaction, so it holds back nobody who reads the outbox.
    open_ones = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction' AND backend_xid IS NOT NULL"
    assert (len(made), await db.value(open_ones)) == (1, 0)
    await full_check.ask()
    go_on.set()
    await asyncio.wait_for(first, 240)
    assert (len(made), (await full_check.last()).due) == (2, False)


async def test_who_changes_a_table_does_not_wait_for_the_whole_check(check, monkeypatch):
    """A migration would, and everybody else for the migration."""
    held = "SELECT count(*) FROM pg_locks WHERE relation = 'delivery'::regclass AND pid <> pg_backend_pid()"
    locks, states = [], streams.states

    async def asked(*given):
        locks.append(await db.value(held))
        return await states(*given)

    monkeypatch.setattr(streams, "states", asked)
    await check()
    assert locks == [0]


async def test_what_the_version_before_has_asked_for_is_made(check):
    await check()
    await db.rows("UPDATE ledger_check SET asked_at = now()")
    assert (await full_check.last()).due
    await check()
    assert not (await full_check.last()).due


@pytest.fixture
async def relay_pool(redis, servers):
    """The connections that a relay has, where a transaction may idle for some seconds only."""
    async with moved_to(servers.database_url, "engine", restarted=False, connections=2, indexes_only=True):
        yield


async def test_a_redis_that_does_not_answer_keeps_no_check_from_its_end(relay_pool, redis, monkeypatch):
    may_idle = "SELECT current_setting('idle_in_transaction_session_timeout')::interval"
    usual, asked = await db.value(may_idle), []

    async def frozen(*_):
        asked.append(await db.value(may_idle))
        raise RedisTimeoutError

    monkeypatch.setattr(streams, "states", frozen)
    await full_check.check_if_due(redis, settings.get())
    assert usual.total_seconds() < SILENCE < min(asked).total_seconds()
    last = await full_check.last()
    assert (last.due, last.result.redis_was_there) == (False, False)
