"""The wire taken step by step: each hop run once, by hand, so that a test can stop between any two."""

from typing import Self

from redis.asyncio import Redis

from leadwire.delivery import streams
from leadwire.delivery.relay.admit import admit
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.relay.reconcile import reconcile
from leadwire.delivery.streams import Entry
from leadwire.delivery.transport.guarded import GuardedTransport
from leadwire.delivery.worker.attempt import attempt
from leadwire.delivery.worker.claim import claim
from leadwire.delivery.worker.jobs import Attempt, ClaimedDelivery
from leadwire.delivery.worker.record import record
from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import NewEndpoint
from leadwire.infrastructure import settings
from leadwire.infrastructure.settings import Settings


class Wire:
    """One relay and one worker."""

    def __init__(self, redis: Redis, timeout: float = 5.0) -> None:
        self.redis = redis
        self.settings: Settings = settings.get()
        self._timeout = timeout
        self._consumer = "test"

    async def __aenter__(self) -> Self:
        self.transport = GuardedTransport(self.settings.allowed_networks, timeout=self._timeout)
        await streams.prepare(self.redis, self.settings.stream_shards)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.transport.aclose()

    async def relay(self) -> int:
        """Fan out and admit, once; answers how many keys went into the streams."""
        keys = (await fan_out()).keys
        admitted = await admit()
        await streams.add(self.redis, [*keys, *admitted], self.settings.stream_shards)
        return len(keys) + len(admitted)

    async def read(self) -> list[Entry]:
        return await streams.read(self.redis, self._consumer, self.settings.stream_shards, 200, 1)

    async def claim(self) -> list[ClaimedDelivery]:
        """Read and claim; what is stale is acknowledged."""
        entries = await self.read()
        if not entries:
            return []
        jobs, stale = await claim(entries)
        await streams.done(self.redis, stale)
        return jobs

    async def post(self, jobs: list[ClaimedDelivery]) -> list[Attempt]:
        return [await attempt(job, self.transport, self.settings) for job in jobs]

    async def settle(self, done: list[Attempt]) -> None:
        if done:
            await record(done, self.settings.retry_schedule)
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
        loads = await streams.states(self.redis, self.settings.stream_shards)
        return await reconcile(loads, self.settings.reconcile_after)


async def endpoint(workspace: str, url: str, *events: str) -> NewEndpoint:
    """An enabled endpoint."""
    made = await changes.create(workspace, url, events or ("lead.created",))
    await changes.enable(workspace, made.id)
    return made
