"""The job on SAQ: `enqueue URL COUNT` or `work`. The Redis is in PEER_REDIS."""

import asyncio
import os
import sys
from typing import Any

import saq
from post import BODY, CONCURRENCY, SECRET, post
from redis.asyncio import Redis
from saq.queue.redis import RedisQueue

queue = RedisQueue(Redis.from_url(os.environ["PEER_REDIS"]), name="webhooks")


async def deliver(_: Any, *, url: str, event_id: str, secret: str, body: str) -> None:
    await post(url, event_id, secret, body)


async def main() -> None:
    await queue.connect()
    if sys.argv[1] == "work":
        await saq.Worker(queue, functions=[deliver], concurrency=CONCURRENCY).start()
        return
    for number in range(int(sys.argv[3])):
        await queue.enqueue(
            "deliver", url=sys.argv[2], event_id=f"evt_{number}", secret=SECRET, body=BODY, retries=4, timeout=40
        )


if __name__ == "__main__":
    asyncio.run(main())
