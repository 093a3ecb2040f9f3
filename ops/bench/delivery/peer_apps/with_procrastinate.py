"""The job on procrastinate: `enqueue URL COUNT` or `work`. The database is in PEER_DATABASE."""

import asyncio
import os
import sys

import procrastinate
from post import BODY, CONCURRENCY, SECRET, post

app = procrastinate.App(connector=procrastinate.PsycopgConnector(conninfo=os.environ["PEER_DATABASE"]))


@app.task(queue="webhooks", retry=procrastinate.RetryStrategy(max_attempts=4, wait=60))
async def deliver(url: str, event_id: str, secret: str, body: str) -> None:
    await post(url, event_id, secret, body)


async def enqueue(url: str, count: int) -> None:
    await app.schema_manager.apply_schema_async()
    for first in range(0, count, 1000):
        await deliver.batch_defer_async(
            *(
                {"url": url, "event_id": f"evt_{number}", "secret": SECRET, "body": BODY}
                for number in range(first, min(count, first + 1000))
            )
        )


async def main() -> None:
    async with app.open_async():
        if sys.argv[1] == "work":
            await app.run_worker_async(queues=["webhooks"], concurrency=CONCURRENCY)
        else:
            await enqueue(sys.argv[2], int(sys.argv[3]))


if __name__ == "__main__":
    asyncio.run(main())
