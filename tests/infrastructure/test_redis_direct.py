"""Commands that are sent without redis-py's layers: each has its own answer, and what fails is as it is there."""

import asyncio

import pytest
from redis.exceptions import ConnectionError as Lost
from redis.exceptions import ResponseError
from redis.exceptions import TimeoutError as Late

from leadwire.infrastructure import redis_pool

_ECHO = "return ARGV[1]"


@pytest.fixture
def stream(workspace) -> str:
    """The name of one that nobody else has."""
    return f"stream-of-{workspace}"


async def _said(redis, text):
    return await redis.eval(_ECHO, 0, text)


async def test_each_of_many_has_its_own_answer(redis):
    texts = [str(number).encode() for number in range(20)]
    assert await asyncio.gather(*(_said(redis, text) for text in texts)) == texts


async def test_what_a_stream_has_comes_as_from_redis_py(redis, stream):
    await redis.xgroup_create(stream, "readers", mkstream=True)
    entry = await redis.xadd(stream, {"a": "1", "b": "2"})
    answer = await redis.xreadgroup("readers", "one", {stream: ">"}, block=1000)
    again = await super(type(redis), redis).execute_command(
        "XREADGROUP", "GROUP", "readers", "one", "STREAMS", stream, "0"
    )
    assert answer == again == [[stream.encode(), [(entry, {b"a": b"1", b"b": b"2"})]]]
    assert not await redis.xreadgroup("readers", "one", {stream: ">"}, block=1)


async def test_an_error_is_raised_and_the_connection_goes_on(redis):
    for _ in range(3):
        with pytest.raises(ResponseError, match="no stream today"):
            await redis.eval("return redis.error_reply('no stream today')", 0)
        assert await _said(redis, b"next") == b"next"


@pytest.fixture
async def waiting(redis, stream) -> asyncio.Task[object]:
    """A command that the server has, and will not answer."""
    await redis.xgroup_create(stream, "readers", mkstream=True)
    waiting = asyncio.create_task(redis.xreadgroup("readers", "one", {stream: ">"}, block=0))
    async with asyncio.timeout(240):
        while not any("b" in one["flags"] for one in await redis.client_list() if one["cmd"] == "xreadgroup"):
            pass
    return waiting


async def test_nobody_gets_the_answer_of_one_that_was_canceled(redis, waiting):
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await _said(redis, b"mine") == b"mine"


async def test_a_connection_that_ends_is_an_error_once(redis, waiting):
    await redis.connection_pool.disconnect()
    with pytest.raises(Lost):
        await waiting
    assert await _said(redis, b"after") == b"after"


async def test_an_answer_that_does_not_come_is_late(servers, redis, stream):
    await redis.xgroup_create(stream, "readers", mkstream=True)
    hasty = redis_pool.create_client(f"{servers.redis_url}&socket_timeout=60")
    await hasty.xreadgroup("readers", "one", {stream: ">"}, block=1)  # connected, however long that takes
    hasty._kept[0]._connection.socket_timeout = 0.01
    with pytest.raises(Late):
        await hasty.xreadgroup("readers", "one", {stream: ">"}, block=0)
    await hasty.aclose()
