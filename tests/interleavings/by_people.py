"""What receivers, customers and operators do to a delivery."""

from datetime import timedelta
from typing import Final

import msgspec

from leadwire.delivery import auto_redrive, erase, pull, redrive_job
from leadwire.delivery.endpoints import changes as endpoint_rows
from leadwire.delivery.worker.quarantine import release
from leadwire.domain.leads import changes as leads
from leadwire.domain.leads import reads as lead_reads
from leadwire.domain.leads.schema import LeadPatch
from leadwire.domain.webhooks import changes
from leadwire.domain.webhooks.schema import EndpointChange
from leadwire.infrastructure import clock, db, ids, settings
from leadwire.infrastructure.errors import DomainError
from tests.interleavings.operations import PULLED, Case, Operation, operation
from tests.interleavings.starts import LONG

OPERATIONS: Final[dict[str, Operation]] = {}

# A receiver


@operation(OPERATIONS, PULLED)
async def take(case: Case) -> None:
    start = case.start
    timeout = msgspec.structs.replace(settings.get(), delivery_timeout=LONG)
    lease, handed = await pull.take(start.endpoint_id, start.workspace, 10, timeout)
    for headers in (dict(one.headers) for one in handed):
        case.sent(headers["webhook-id"], start.endpoint_id, lease, int(headers["X-Service-Attempt"]))


@operation(OPERATIONS, PULLED, db.Locked)
async def acknowledge(case: Case) -> None:
    start = case.start
    await pull.acknowledge(start.endpoint_id, start.workspace, start.lease, start.events, settings.get())


# Customers and operators

_PROBED = """
INSERT INTO attempt (event_id, endpoint_id, generation, number, counted, started_at, duration_ms, outcome)
VALUES ($2, $1, 1, 1, true, now() + interval '1 hour', 1, 'delivered')"""


@operation(OPERATIONS, "aside queued lapsed")
async def release_(case: Case) -> None:
    await release(case.start.event_id)


@operation(OPERATIONS, "dead claimed before retried numbered_dead expired", db.Locked)
async def auto_redrive_(case: Case) -> None:
    """A probe, and then the redrive of all and retries brought forward, as if something had been answered."""
    endpoint_id = case.start.endpoint_id
    await db.rows("UPDATE webhook_endpoint SET auto_redrive_since = '-infinity' WHERE id = $1", endpoint_id)
    await auto_redrive.step(endpoint_id, "")
    await db.rows("UPDATE webhook_endpoint SET failing_since = NULL WHERE id = $1", endpoint_id)
    probe = ids.new("evt")
    await db.rows(_PROBED, endpoint_id, probe)
    await auto_redrive.step(endpoint_id, f"1 {probe}")
    for row in await db.rows("SELECT id FROM redrive_job WHERE died_since IS NOT NULL AND state = 'running'"):
        await redrive_job.step(row["id"])


async def _job(case: Case, criteria: redrive_job.Criteria) -> None:
    """A job whose step comes now, although it may have matched nothing when it was made."""
    job = await redrive_job.create(criteria, 100)
    await redrive_job.move(case.start.workspace, job, ["finished"], "running")
    await redrive_job.step(job)


@operation(OPERATIONS, "dead claimed behind before numbered_dead expired", db.Locked)
async def redrive_job_(case: Case) -> None:
    await _job(case, redrive_job.Criteria(case.start.workspace, "evt_", "evt_z"))


@operation(
    OPERATIONS, "unrelayed queued claimed lapsed delivered dead behind erased numbered_dead expired aside", db.Locked
)
async def replay(case: Case) -> None:
    start = case.start
    await _job(case, redrive_job.Criteria(start.workspace, "evt_", "evt_z", start.endpoint_id, replay=True))


@operation(OPERATIONS, "delivered dead claimed before numbered_dead expired")
async def resend(case: Case) -> None:
    """One event, at once."""
    start = case.start
    span = start.event_id, redrive_job.after(start.event_id)
    await redrive_job.create(redrive_job.Criteria(start.workspace, *span, start.endpoint_id, replay=True), 100)


@operation(OPERATIONS, "retried waiting")
async def retry_now(case: Case) -> None:
    await redrive_job.retry_now(case.start.workspace, case.start.event_id, case.start.endpoint_id)


@operation(OPERATIONS, "numbered numbered_dead")
async def redrive_numbers(case: Case) -> None:
    start = case.start
    numbers = {"first_number": 1, "last_number": 9}
    criteria = redrive_job.Criteria(start.workspace, "evt_", "evt_z", start.endpoint_id, replay=True, **numbers)
    await redrive_job.create(criteria, 100)


@operation(
    OPERATIONS,
    "unrelayed waiting queued claimed lapsed retried behind dead aside numbered offered handed held",
    DomainError,
)
async def erase_person(case: Case) -> None:
    """What concerns deliveries of it."""
    async with db.transaction():
        stored = await lead_reads.stored(case.start.workspace, case.start.lead_id, lock=True)
        await erase.erase_events(case.start.lead_id, [stored.lead.conversation_id])
        await leads.delete(case.start.workspace, stored.lead)


@operation(OPERATIONS, "delivered dead")
async def erase_old(case: Case) -> None:
    """What a workspace keeps no longer."""
    await erase.blank_events(case.start.workspace, clock.now() - timedelta(days=1), clock.now() + timedelta(days=1))


@operation(OPERATIONS, "unrelayed queued claimed aside offered", DomainError)
async def enable(case: Case) -> None:
    """After a pause."""
    await changes.disable(case.start.workspace, case.start.endpoint_id)
    await changes.enable(case.start.workspace, case.start.endpoint_id)


@operation(OPERATIONS, "unrelayed queued claimed handed", DomainError)
async def disable(case: Case) -> None:
    await changes.disable(case.start.workspace, case.start.endpoint_id)


@operation(OPERATIONS, "unrelayed queued claimed behind dead aside discarding numbered offered handed", DomainError)
async def delete(case: Case) -> None:
    await changes.delete(case.start.workspace, case.start.endpoint_id)


async def _configure(case: Case, **change: object) -> None:
    await changes.configure(case.start.workspace, case.start.endpoint_id, EndpointChange(**change))


@operation(OPERATIONS, "unrelayed waiting behind before", DomainError)
async def toggle_order(case: Case) -> None:
    await _configure(case, ordered=case.start.name not in ("behind", "before"))


@operation(OPERATIONS, "queued numbered", DomainError)
async def toggle_numbers(case: Case) -> None:
    await _configure(case, numbered=case.start.name != "numbered")


@operation(OPERATIONS, "waiting claimed", DomainError)
async def limit_rate(case: Case) -> None:
    await _configure(case, rate_limit=60)


@operation(OPERATIONS, "queued held retried", DomainError)
async def let_fetch(case: Case) -> None:
    """The receiver fetches from now on."""
    await _configure(case, url="pull:crm")


@operation(OPERATIONS, "offered handed", DomainError)
async def let_send(case: Case) -> None:
    """The receiver fetches no more."""
    await _configure(case, url="http://127.0.0.1:9/")


@operation(OPERATIONS, "waiting claimed held handed")
async def suspend(case: Case) -> None:
    await endpoint_rows.hold(case.start.workspace, held=True)


@operation(OPERATIONS, "waiting claimed offered")
async def resume(case: Case) -> None:
    await endpoint_rows.hold(case.start.workspace, held=True)
    await endpoint_rows.hold(case.start.workspace, held=False)


@operation(OPERATIONS, "queued behind unrelayed", DomainError)
async def change_lead(case: Case) -> None:
    """Another event."""
    await leads.update(case.start.workspace, case.start.lead_id, LeadPatch(score=99), unchanged={})


@operation(OPERATIONS, "queued dead handed")
async def delete_events(case: Case) -> None:
    """Of a workspace that is deleted."""
    async with db.transaction():
        await erase.delete_events(case.start.workspace, 100)
