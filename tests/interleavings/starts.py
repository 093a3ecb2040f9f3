"""The states of a delivery in which two operations may meet: each is made once, by what makes it in life."""

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import msgspec

from leadwire.delivery import pull, redrive_job
from leadwire.delivery.relay.admit import admit
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.retry import NextStep
from leadwire.delivery.states import Outcome
from leadwire.delivery.streams import Entry, Key
from leadwire.delivery.worker.attempt import Attempt, ClaimedDelivery
from leadwire.delivery.worker.claim import claim
from leadwire.delivery.worker.number import number
from leadwire.delivery.worker.quarantine import set_aside
from leadwire.delivery.worker.record import record
from leadwire.domain.accounts import changes as accounts
from leadwire.domain.bots import changes as bots
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.webhooks import changes, receivers
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db, redis_pool, settings
from tests import make
from tests.delivery.wired import endpoint

LONG, ENDED = 3600.0, -1.0  # seconds
TEXT: Final = "what-the-receiver-answered"
_seconds: Final = itertools.count()


@dataclass
class Start:
    """A delivery, and who has it in hand. `jobs` are claimed and sent, and nobody has recorded what came of them."""

    workspace: str
    lead_id: str
    endpoint_id: str
    events: list[str] = field(default_factory=list)
    jobs: dict[str, ClaimedDelivery] = field(default_factory=dict)  # by owner
    unsent: str = ""  # the owner of a claim that has not been sent yet
    dead_owner: str = ""  # whoever has it in hand and does not live any more
    lease: str = ""
    attempts: int = 0
    name: str = ""

    @property
    def event_id(self) -> str:
        return self.events[0]

    @property
    def entry(self) -> Entry:
        """What a stream has of the delivery."""
        return Entry(b"", b"", Key(self.event_id, self.endpoint_id, self.attempts))

    async def take(self, owner: str, lease: float = LONG, *gone: str) -> ClaimedDelivery:
        """Claim it for a worker, which sends it. It may be taken from those that are `gone`."""
        (self.jobs[owner],) = (await claim([self.entry], owner, lease, gone)).jobs
        return self.jobs[owner]


def outcome(job: ClaimedDelivery, outcome: Outcome, step: NextStep) -> Attempt:
    """What came of a POST; no two began at the same time."""
    status = {"delivered": 200, "gone": 410}.get(outcome, 500)
    began = clock.now() - timedelta(seconds=next(_seconds))
    return Attempt(job, began, 0.0, 0.001, outcome, step, status, None, TEXT, 0.0, "[]")


async def recorded(start: Start, owner: str, said: Outcome, step: NextStep) -> None:
    await record([outcome(start.jobs.pop(owner), said, step)], owner)


async def queued(url: str, *, events: int = 1, is_open: bool = True, **change: object) -> Start:
    """A person who was changed `events` times, and an endpoint that wants to know of it."""
    workspace = await accounts.create_workspace("Test")
    bot = await bots.create(workspace, "Bot")
    lead = await make.somebody(workspace, bot)
    made = await endpoint(workspace, url, "lead.updated")
    await changes.configure(workspace, made.id, EndpointChange(**change))
    if url.startswith(pull.SCHEME):
        await receivers.make_token(workspace, made.id)
    if is_open:
        await admit()
    for score in range(1, events + 1):
        await leads.update(workspace, lead.id, LeadPatch(score=score), unchanged={})
    while redis_pool._background_tasks:
        await asyncio.wait(redis_pool._background_tasks)
    rows = await db.rows("SELECT id FROM event WHERE kind = 'lead.updated' ORDER BY position")
    return Start(workspace, lead.id, made.id, [row["id"] for row in rows])


async def unrelayed(url: str) -> Start:
    return await queued(url, is_open=False)


async def waiting(url: str) -> Start:
    start = await queued(url, is_open=False)
    await fan_out()
    return start


async def claimed(url: str) -> Start:
    start = await queued(url)
    await start.take("first")
    return start


async def held(url: str) -> Start:
    """Claimed, not sent yet."""
    start = await claimed(url)
    start.unsent = "first"
    return start


async def lapsed(url: str) -> Start:
    """Claimed by a worker that was killed after its POST."""
    start = await queued(url)
    await start.take("first", ENDED)
    start.dead_owner = "first"
    return start


async def overtaken(url: str) -> Start:
    """Claimed by a worker that sleeps, and after its lease by another."""
    start = await queued(url)
    await start.take("late", ENDED)
    await start.take("first", LONG, "late")
    return start


async def retried(url: str) -> Start:
    """Waiting for its second attempt, as long as a schedule may ask for."""
    start = await ended(url, "http_5xx", NextStep("waiting", max(settings.get().retry_schedule)))
    start.attempts = 1
    return start


async def ended(url: str, said: Outcome, step: NextStep) -> Start:
    start = await claimed(url)
    await recorded(start, "first", said, step)
    return start


async def delivered(url: str) -> Start:
    return await ended(url, "delivered", NextStep("delivered"))


async def dead(url: str) -> Start:
    return await ended(url, "http_5xx", NextStep("dead"))


async def redriven(url: str) -> Start:
    """Dead, and sent again, while a worker sleeps that has the first generation in hand."""
    start = await overtaken(url)
    await recorded(start, "first", "http_5xx", NextStep("dead"))
    criteria = redrive_job.Criteria(start.workspace, start.event_id, redrive_job.after(start.event_id))
    await redrive_job.create(criteria, 100)
    await admit()
    return start


async def aside(url: str) -> Start:
    start = await queued(url)
    await set_aside([start.entry])
    return start


async def discarding(url: str) -> Start:
    """Waiting, of an endpoint that is to be emptied."""
    start = await waiting(url)
    await changes.discard(start.workspace, start.endpoint_id)
    return start


async def orphaned(url: str) -> Start:
    """Queued, of an endpoint that was deleted."""
    start = await queued(url)
    await changes.delete(start.workspace, start.endpoint_id)
    return start


async def erased(url: str) -> Start:
    """Queued, of an event whose body was blanked, as an erasure that ran beside an earlier version left it."""
    start = await queued(url)
    await db.rows("UPDATE event SET body = '' WHERE id = $1", start.event_id)
    return start


async def behind(url: str) -> Start:
    """The first of two changes of a person is claimed, the second waits for it."""
    start = await queued(url, events=2, ordered=True)
    await fan_out()
    await admit()
    await start.take("first")
    return start


async def before(url: str) -> Start:
    """The first of two changes of a person is dead, the second queued."""
    start = await behind(url)
    await recorded(start, "first", "http_5xx", NextStep("dead"))
    await admit()
    return start


async def numbered(url: str) -> Start:
    """Claimed, of an endpoint whose deliveries have numbers, and not sent yet."""
    start = await queued(url, numbered=True)
    await start.take("first")
    start.unsent = "first"
    return start


async def numbered_dead(url: str) -> Start:
    start = await numbered(url)
    await number([start.jobs["first"].entry.key], "first")
    start.unsent = ""
    await recorded(start, "first", "http_5xx", NextStep("dead"))
    return start


async def offered(_url: str) -> Start:
    """Waiting for its receiver to fetch it."""
    return await waiting("pull:crm")


async def handed(_url: str, lease: float = LONG) -> Start:
    """Handed out to its receiver."""
    start = await offered("")
    timeout = msgspec.structs.replace(settings.get(), delivery_timeout=lease)
    start.lease, _ = await pull.take(start.endpoint_id, start.workspace, 10, timeout)
    return start


async def expired(_url: str) -> Start:
    """Handed out, and not acknowledged in time."""
    return await handed("", ENDED)


_MADE: Final = (
    unrelayed, waiting, queued, held, claimed, lapsed, overtaken, retried, delivered, dead, redriven, aside, discarding,
    orphaned, erased, behind, before, numbered, numbered_dead, offered, handed, expired,
)  # fmt: skip
STARTS: Final[dict[str, Callable[[str], Awaitable[Start]]]] = {made.__name__: made for made in _MADE}
