"""What must hold of a delivery whatever has met: asked of the tables, and then by bringing it to its end."""

import contextlib
from typing import Final

import msgspec

from leadwire.delivery import pull, streams
from leadwire.delivery.endpoints import changes as endpoint_rows
from leadwire.delivery.monitoring import ledger
from leadwire.delivery.worker.quarantine import release
from leadwire.domain.privacy import erasure
from leadwire.domain.webhooks import changes
from leadwire.infrastructure import db
from leadwire.infrastructure.errors import NotFound
from tests import jobs as background
from tests import make
from tests.clock import DatabaseClock
from tests.delivery.wired import Wire
from tests.interleavings import kept
from tests.interleavings.operations import Case
from tests.interleavings.starts import TEXT, Start

EXCUSES: Final = frozenset({"erase_person", "delete_events", "disable", "delete", "enable"})
"""Operations after which less may be there."""

_ROUNDS: Final = 12
_SETTLED: Final = 120.0  # seconds: the ledger asks for what has been so for a minute
_LATER: Final = 7200.0  # seconds: after every lease, pause and retry

_WHEN: Final = (
    "CASE WHEN {0} IS NULL THEN '-' WHEN {0} = 'infinity' THEN 'never' WHEN {0} > now() THEN 'later' ELSE 'now' END"
)
# Everything that decides what comes next; of a time only whether it has come.
_OPEN: Final = f"""
SELECT concat_ws(' ', 'delivery', event_id, endpoint_id, state, attempts, generation, subject IS NOT NULL, sequence,
    {_WHEN.format("due_at")}, {_WHEN.format("lease_until")}, split_part(owner, ':', 1), set_aside_at IS NOT NULL) AS row
FROM delivery
UNION ALL SELECT concat_ws(' ', 'result', event_id, endpoint_id, state, generation, attempts, sequence)
FROM delivery_result
UNION ALL SELECT concat_ws(' ', 'attempt', event_id, generation, number, counted) FROM attempt
UNION ALL SELECT concat_ws(' ', 'outbox', event_id) FROM outbox
UNION ALL SELECT concat_ws(' ', 'discard', endpoint_id) FROM discard
UNION ALL SELECT concat_ws(' ', 'event', id, body = '') FROM event
UNION ALL SELECT concat_ws(' ', 'endpoint', id, enabled, ordered, numbered, rate_limit, open,
    {_WHEN.format("due_at")}, {_WHEN.format("paused_until")}, url LIKE 'pull:%') FROM webhook_endpoint
UNION ALL SELECT concat_ws(' ', 'numbers', last) FROM endpoint_sequence
UNION ALL SELECT concat_ws(' ', 'job', replay) FROM redrive_job WHERE state = 'running' ORDER BY 1"""

# In how many places a delivery of an event is that is not erased: one.
_PLACES: Final = """
SELECT v.id, (SELECT count(*) FROM outbox o WHERE o.event_id = v.id)
    + (SELECT count(*) FROM every_delivery d WHERE d.event_id = v.id AND d.endpoint_id = $2) AS places
FROM event v WHERE v.id = ANY($1) AND v.body <> ''"""
_DOUBLED: Final = """
SELECT event_id, generation, number FROM attempt WHERE counted GROUP BY event_id, endpoint_id, generation, number
HAVING count(*) > 1"""
_TOGETHER: Final = """
SELECT endpoint_id, subject FROM delivery WHERE state = 'queued' AND subject IS NOT NULL GROUP BY endpoint_id, subject
HAVING count(*) > 1"""
_UNSENDABLE: Final = "SELECT count(*) FROM delivery d JOIN event v ON v.id = d.event_id WHERE v.body = ''"
_NUMBERS: Final = """
SELECT last, ARRAY(SELECT sequence FROM every_delivery d WHERE d.endpoint_id = s.endpoint_id AND sequence IS NOT NULL
    ORDER BY 1) AS given FROM endpoint_sequence s"""
_LEFT: Final = "SELECT (SELECT count(*) FROM delivery) + (SELECT count(*) FROM outbox)"


class _Undone(Exception):
    """Rolls back what was only tried."""


async def state() -> tuple[str, ...]:
    """All that decides what can happen next, so that the same state need not be looked at twice."""
    return tuple(row["row"] for row in await db.rows(_OPEN))


def sent_twice(case: Case) -> list[str]:
    """POSTs that were made twice although the first one's worker lives."""
    most = 2 if case.start.dead_owner or "late" in case.start.jobs else 1
    return [f"{post[2:]} was sent {count} times" for post, count in case.posts.items() if count > most]


async def broken(start: Start, wire: Wire, done: frozenset[str]) -> list[str]:
    """What does not hold just now, after these operations. The ledger, too, is asked."""
    await DatabaseClock().forward(_SETTLED)
    checks, _ = await ledger.check(None, msgspec.structs.replace(wire.settings, retry_schedule=()))
    found = [f"{one.broken} {one.name}" for one in checks if one.broken and one.name != "overdue_with_room"]
    found += [f"{tuple(row)} is recorded twice" for row in await db.rows(_DOUBLED)]
    found += [f"two of {row['subject']} are on their way" for row in await db.rows(_TOGETHER)]
    if "erase_person" in done and "erased" not in done and await db.value(_UNSENDABLE):
        found.append("what was erased is still to be sent")
    if "delete_events" in done:
        return found
    unwanted = "unrelayed" in done and done & {"disable", "delete", "enable"}
    for event, places in await db.rows(_PLACES, start.events, start.endpoint_id):
        if places > 1 or (places == 0 and not unwanted):
            found.append(f"{event} is in {places} places")
    for last, given in await db.rows(_NUMBERS):
        if given != list(range(1, last + 1)):
            found.append(f"the numbers up to {last} are {given}")
    return found


async def ends(start: Start, wire: Wire, done: frozenset[str]) -> list[str]:
    """What does not hold when all work is done that is left: before it, the person can be erased."""
    found = []
    try:
        async with db.transaction():
            with contextlib.suppress(NotFound):
                await erasure.erase_lead(start.workspace, start.lead_id)
            raise _Undone
    except _Undone:
        pass
    except Exception as error:  # noqa: BLE001 - told as what it is
        found.append(f"not to be erased: {error!r}")
    await _drain(start, wire)
    found += await broken(start, wire, done)
    if left := await db.value(_LEFT):
        found.append(f"{left} never end")
    found += [f"two of {row['subject']} are on their way" for row in await db.rows(_TOGETHER)]
    if "erase_person" in done and any(TEXT in row for rows in (await make.stored()).values() for row in rows):
        found.append("an answer that repeats what was erased is kept")
    return found


async def _drain(start: Start, wire: Wire) -> None:
    """Let an operator release what is held, and the relay and a worker do what is left, while time goes by."""
    await wire.redis.flushdb()
    await streams.prepare(wire.redis, wire.settings.stream_shards)
    await release()
    await endpoint_rows.hold(start.workspace, held=False)
    with contextlib.suppress(NotFound):
        await changes.enable(start.workspace, start.endpoint_id)
    for _ in range(_ROUNDS):
        await DatabaseClock().forward(_LATER)
        kept.end_rests()
        await background.redrive()
        await pull.expire(wire.settings)
        await _fetch(start, wire)
        await wire.relay()
        await wire.reconcile()
        await wire.deliver()
        if not await db.value(_LEFT):
            break


async def _fetch(start: Start, wire: Wire) -> None:
    place = start.endpoint_id, start.workspace
    patient = msgspec.structs.replace(wire.settings, delivery_timeout=_LATER)
    lease, handed = await pull.take(*place, 100, patient)
    if handed:
        await pull.acknowledge(*place, lease, [dict(one.headers)["webhook-id"] for one in handed], patient)
