"""Receivers of webhooks that use the inbox, alike with every driver."""

import asyncio
import functools
import inspect
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, closing

import aiosqlite
import asyncpg
import psycopg
import redis as redis_py
import redis.asyncio as redis_async

from leadwire_client.inbox import NUMBER_TABLE, TABLE, check_numbers, check_numbers_async, once


class Boom(Exception):
    pass


class Receiver:
    """One connection of a receiver, used alike with every driver: a blocking one has a thread of its own."""

    def __init__(self, connection, thread=None):
        self.connection, self.thread = connection, thread

    async def in_thread(self, call, *values):
        return await asyncio.get_running_loop().run_in_executor(self.thread, call, *values)

    async def do(self, method, *values, of=None):
        call = getattr(of or self.connection, method)
        if self.thread:
            return await self.in_thread(call, *values)
        result = call(*values)
        return await result if inspect.isawaitable(result) else result

    @asynccontextmanager
    async def once(self, webhook_id="evt_1", **options):
        block = once(self.connection, webhook_id, **options)
        if not self.thread:
            async with block as first:
                yield first
            return
        first = await self.in_thread(block.__enter__)
        try:
            yield first
        except BaseException as error:
            await self.in_thread(block.__exit__, type(error), error, error.__traceback__)
            raise
        await self.in_thread(block.__exit__, None, None, None)

    async def handle(self, webhook_id="evt_1", *, fails=False, **options):
        """Handle a delivery as a receiver would: the effect is a row, or in Redis one more in a list."""
        async with self.once(webhook_id, **options) as first:
            if first:
                await self.effect()
            if fails:
                raise Boom
        return first

    async def check_numbers(self, *values, **options):
        if self.thread:
            return await self.in_thread(functools.partial(check_numbers, self.connection, *values, **options))
        return await check_numbers_async(self.connection, *values, **options)

    async def effect(self):
        if isinstance(self.connection, redis_py.Redis | redis_async.Redis):
            await self.do("rpush", "effects", "1")
        else:
            await self.do("execute", "INSERT INTO effect VALUES (1)")

    async def fetch(self, sql):
        if isinstance(self.connection, asyncpg.Connection):
            return [tuple(row) for row in await self.connection.fetch(sql)]
        cursor = await self.do("execute", sql)
        return await self.do("fetchall", of=cursor)

    @asynccontextmanager
    async def transaction(self):
        """A transaction that is open before the inbox is asked; it is rolled back if the block raises."""
        if isinstance(self.connection, asyncpg.Connection):  # knows only those which it began itself
            async with self.connection.transaction():
                yield
            return
        await self.do("execute", "BEGIN")
        try:
            yield
        except BaseException:
            await self.do("execute", "ROLLBACK")
            raise
        await self.do("execute", "COMMIT")

    async def effects(self):
        if isinstance(self.connection, redis_py.Redis | redis_async.Redis):
            return await self.do("llen", "effects")
        return (await self.fetch("SELECT count(*) FROM effect"))[0][0]


@asynccontextmanager
async def connections(servers, file):
    """What opens a connection of a driver; closes all of them at the end. `file` becomes the database of SQLite."""
    with closing(sqlite3.connect(file)) as made:
        made.executescript(f"PRAGMA journal_mode = wal; {TABLE}; {TABLE}; {NUMBER_TABLE}; CREATE TABLE effect (n int)")
    async with AsyncExitStack() as stack:

        async def open_one(driver, **options):
            blocking = driver in ("psycopg", "sqlite3", "redis")
            thread = stack.enter_context(ThreadPoolExecutor(1)) if blocking else None
            path = {"autocommit": True, "options": "-csearch_path=receiver"}
            if driver == "psycopg":
                connection = stack.enter_context(
                    closing(await asyncio.to_thread(psycopg.connect, servers.database_url, **path | options))
                )
            elif driver == "psycopg-async":
                connection = await psycopg.AsyncConnection.connect(servers.database_url, **path | options)
                stack.push_async_callback(connection.close)
            elif driver == "asyncpg":
                settings = {"search_path": "receiver"}
                connection = await asyncpg.connect(servers.database_url, server_settings=settings)
                stack.push_async_callback(connection.close)
            elif driver == "sqlite3":
                connection = stack.enter_context(closing(sqlite3.connect(file, check_same_thread=False, **options)))
            elif driver == "aiosqlite":
                connection = await stack.enter_async_context(aiosqlite.connect(file, **options))
            elif driver == "redis":
                connection = stack.enter_context(redis_py.Redis.from_url(servers.redis_url, **options))
            else:
                connection = redis_async.Redis.from_url(servers.redis_url, **options)
                stack.push_async_callback(connection.aclose)
            return Receiver(connection, thread)

        yield open_one
