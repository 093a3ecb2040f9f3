"""Announcements through Redis: many of one moment are one message."""

import asyncio

from leadwire.infrastructure import announcements, redis_pool


async def test_what_is_said_again_and_again_in_a_moment_is_one_message(redis, monkeypatch):
    said: list[tuple[str, ...]] = []

    async def publish(_: object, *channels: str) -> None:
        said.append(channels)

    monkeypatch.setattr(redis_pool, "publish", publish)
    announcer = announcements.Announcer(0.005)
    for channel in ("a", "a", "b", "a"):
        announcer.announce(channel)
    await asyncio.gather(*redis_pool._background_tasks)
    assert said == [("a", "b")]
    announcer.announce("a")
    await asyncio.gather(*redis_pool._background_tasks)
    assert said == [("a", "b"), ("a",)]
