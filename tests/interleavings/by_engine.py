"""What workers and the relay do to a delivery."""

from typing import Final

from leadwire.delivery import pull
from leadwire.delivery.endpoints import discard
from leadwire.delivery.relay.admit import admit
from leadwire.delivery.relay.fan_out import fan_out
from leadwire.delivery.relay.reconcile import Living, reconcile
from leadwire.delivery.retry import NextStep
from leadwire.delivery.worker.claim import claim, put_back
from leadwire.delivery.worker.claim import release as release_claims
from leadwire.delivery.worker.number import number
from leadwire.delivery.worker.quarantine import set_aside
from leadwire.infrastructure import db, redis_pool, settings
from tests.interleavings.operations import PULLED, Case, Operation, operation
from tests.interleavings.starts import LONG

OPERATIONS: Final[dict[str, Operation]] = {}

# A worker


@operation(OPERATIONS, "claimed lapsed overtaken behind")
async def record_success(case: Case) -> None:
    await case.record("first", "delivered", NextStep("delivered"))


@operation(OPERATIONS, "claimed lapsed overtaken behind")
async def record_failure(case: Case) -> None:
    await case.record("first", "http_5xx", NextStep("waiting", LONG))


@operation(OPERATIONS, "claimed lapsed overtaken behind")
async def record_last_failure(case: Case) -> None:
    await case.record("first", "http_5xx", NextStep("dead"))


@operation(OPERATIONS, "claimed lapsed behind")
async def record_gone(case: Case) -> None:
    """The endpoint is disabled as well."""
    await case.record("first", "gone", NextStep("dead"))


@operation(OPERATIONS, "overtaken redriven")
async def record_late(case: Case) -> None:
    """By a worker that has slept past its lease."""
    await case.record("late", "delivered", NextStep("delivered"))


@operation(OPERATIONS, "overtaken redriven")
async def record_late_failure(case: Case) -> None:
    await case.record("late", "http_5xx", NextStep("dead"))


@operation(OPERATIONS, "lapsed")
async def give_up(case: Case) -> None:
    """By the worker that has claimed it a lease ago, and holds it no more."""
    await release_claims([], "first")


@operation(OPERATIONS, "queued claimed lapsed overtaken redriven orphaned erased before numbered")
async def claim_(case: Case) -> None:
    """By another worker, which sends it: what nobody has, or a worker that is gone."""
    owner = "second" if "second" not in case.jobs else "third"
    for job in (await claim([case.start.entry], owner, LONG, ("late", case.start.dead_owner))).jobs:
        case.jobs[owner] = job
        if not job.numbered:
            case.sent(job.entry.key.event_id, job.entry.key.endpoint_id, job.generation, job.number)


@operation(OPERATIONS, "queued claimed lapsed overtaken redriven orphaned behind numbered", db.Locked)
async def put_back_(case: Case) -> None:
    """By another worker, which has no slot for it."""
    await put_back([case.start.entry.key], "second", {case.start.endpoint_id: (1, 0.2)})


@operation(OPERATIONS, "held", db.Locked)
async def put_back_own(case: Case) -> None:
    """By the worker that has claimed it: its endpoint takes nothing now."""
    case.jobs.pop("first", None)
    await put_back([case.start.entry.key], "first", {})


@operation(OPERATIONS, "numbered")
async def number_(case: Case) -> None:
    """By the worker that has claimed it, which then sends it."""
    job = case.jobs.get("first")
    if job and job.numbered and (await number([job.entry.key], "first")).get(job.entry.key[:2]):
        case.sent(job.entry.key.event_id, job.entry.key.endpoint_id, job.generation, job.number)


@operation(OPERATIONS, "queued lapsed behind before")
async def set_aside_(case: Case) -> None:
    await set_aside([case.start.entry])


# The relay


@operation(OPERATIONS, "unrelayed queued claimed dead behind offered")
async def fan_out_(_case: Case) -> None:
    await fan_out()


@operation(OPERATIONS, "unrelayed waiting retried behind before discarding offered")
async def admit_(_case: Case) -> None:
    await admit()


@operation(OPERATIONS, "queued lapsed handed expired orphaned")
async def reconcile_(_case: Case) -> None:
    """Takes everything that is queued as lost, unless a lease holds it: nobody is heard of."""
    await reconcile(redis_pool.require_client(), settings.get().stream_shards, -LONG, Living(0.0))


@operation(OPERATIONS, PULLED)
async def expire(_case: Case) -> None:
    await pull.expire(settings.get())


@operation(OPERATIONS, "waiting discarding retried behind orphaned offered", db.Locked)
async def discard_(case: Case) -> None:
    """What waits for the endpoint is canceled, as somebody has asked."""
    await discard.start(case.start.endpoint_id, case.start.workspace)
    while await discard.step(case.start.endpoint_id):
        pass
