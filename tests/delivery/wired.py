"""The wire taken step by step: each hop run once, by hand, so that a test can stop between any two."""

import asyncio
from typing import Self

from redis.asyncio import Redis

from leadwire.delivery import streams
from leadwire.delivery.relay.admit import admit
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.relay.reconcile import Living, reconcile
from leadwire.delivery.streams import Entry
from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.delivery.worker.attempt import Attempt, ClaimedDelivery, attempt
from leadwire.delivery.worker.claim import claim, put_back
from leadwire.delivery.worker.loop import Deliverer
from leadwire.delivery.worker.number import number
from leadwire.delivery.worker.record import record
from leadwire.domain.webhooks import changes, redrives
from leadwire.domain.webhooks.redrives import Selection
from leadwire.domain.webhooks.schema import NewEndpoint
from leadwire.infrastructure import redis_pool, settings
from leadwire.infrastructure.settings import Settings
from tests import jobs as background

_PATIENCE = 60.0  # seconds for a POST: no receiver of these tests is too slow, but the machine may be


class Wire:
    """One relay and one worker."""

    def __init__(self, redis: Redis, consumer: str = "test") -> None:
        self.redis = redis
        self.settings: Settings = settings.get()
        self.consumer = consumer

    async def __aenter__(self) -> Self:
        self.transport = GuardedTransport(self.settings.allowed_networks, timeout=_PATIENCE)
        await streams.prepare(self.redis, self.settings.stream_shards)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.transport.aclose()

    async def relay(self) -> int:
        """Fan out and admit, once, and cancel all that is to be. Return how many keys went into the streams, without
        those of changes.
        """
        while redis_pool._background_tasks:  # the streams have what changes have queued
            await asyncio.wait(redis_pool._background_tasks)
        keys = (await fan_out()).keys
        admitted = await admit()
        while await background.discard():
            pass
        await streams.add(self.redis, [*keys, *admitted], self.settings.stream_shards)
        return len(keys) + len(admitted)

    async def read(self) -> list[Entry]:
        """Take what is there, without waiting: Valkey ends a wait of 1 ms up to 0.1 s late."""
        return await streams.read(self.redis, self.consumer, self.settings.stream_shards, 200, None)

    async def claim(self) -> list[ClaimedDelivery]:
        """Read and claim; what is stale is acknowledged."""
        entries = await self.read()
        if not entries:
            return []
        jobs = await self.claim_as(self.consumer, entries)
        kept = {job.entry.id for job in jobs}
        if fresh := [job.entry.key for job in jobs if job.numbered and job.sequence is None]:
            numbers = await number(fresh, self.consumer)
            jobs = [job._replace(sequence=numbers.get(job.entry.key[:2], job.sequence)) for job in jobs]
            jobs = [job for job in jobs if job.sequence or not job.numbered]
        await streams.done(self.redis, [entry for entry in entries if entry.id not in kept])
        return jobs

    async def claim_as(self, owner: str, entries: list[Entry], *gone: str) -> list[ClaimedDelivery]:
        """Claim for any worker, also from those that are gone. What its endpoint does not take now waits again."""
        found = await claim(entries, owner, self.settings.lease, gone)
        if found.held:
            await put_back([entry.key for entry in found.held], owner, dict.fromkeys(found.unreadable, (1, 60.0)))
        return found.jobs

    async def post(self, jobs: list[ClaimedDelivery]) -> list[Attempt]:
        return [await attempt(job, self.transport, self.settings) for job in jobs]

    async def settle(self, done: list[Attempt]) -> None:
        if done:
            await record(done, self.consumer)
            await streams.done(self.redis, [one.job.entry for one in done])

    async def deliver(self) -> list[Attempt]:
        """Claim, post, record and acknowledge everything there is."""
        done = await self.post(await self.claim())
        await self.settle(done)
        return done

    async def turn(self) -> list[Attempt]:
        """One relay and one delivery round."""
        await self.relay()
        return await self.deliver()

    async def reconcile(self) -> int:
        """As if no worker had been heard of for a lease."""
        known = Living(0.0)
        lost = await reconcile(self.redis, self.settings.stream_shards, self.settings.reconcile_after, known)
        await streams.add(self.redis, lost, self.settings.stream_shards)
        return len(lost)


async def begin(worker: Deliverer, entries: list[Entry]) -> None:
    """Let a worker begin what was read."""
    stop = asyncio.Event()
    await worker._accept(entries, stop)
    await worker._start(stop)
    if worker._posts:
        await asyncio.wait(worker._posts)


async def endpoint(workspace: str, url: str, *events: str) -> NewEndpoint:
    """An enabled endpoint."""
    made = await changes.create(workspace, url, events or ("lead.created",))
    await changes.enable(workspace, made.id)
    return made


async def redriven(workspace: str, event_id: str, endpoint_id: str | None = None) -> int:
    """Send the dead letters of an event again. Return how many there were."""
    return (await redrives.start(workspace, Selection(event_id=event_id, endpoint_id=endpoint_id))).done


async def resend(workspace: str, event_id: str, endpoint_id: str) -> int:
    """Send an event to an endpoint again, whatever came of it."""
    return (await redrives.start(workspace, Selection(event_id=event_id, endpoint_id=endpoint_id, replay=True))).done
