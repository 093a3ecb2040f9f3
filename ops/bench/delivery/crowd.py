"""What many endpoints cost a quiet customer: those that wait, and those that all want the same events."""

import time
from typing import Final, NamedTuple

from leadwire.delivery.endpoints.table import WebhookEndpoint
from leadwire.infrastructure import db, secret_box
from ops.bench.delivery import isolation, world
from ops.bench.delivery.isolation import Lags
from ops.bench.delivery.process import Process
from ops.bench.delivery.sink import Sink

_RATE: Final = 20.0  # events a second of the quiet endpoint
_OWNERS: Final = 500
_COPY_ENDPOINTS: Final = """
INSERT INTO webhook_endpoint SELECT (jsonb_populate_record(w, jsonb_build_object('id', w.id || 'c' || n))).*
FROM webhook_endpoint w, generate_series(1, $2) n WHERE w.workspace_id = ANY($1)"""
# A retry of each event to each endpoint of its workspace, at any moment of the next hour.
_LET_WAIT: Final = """
INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, attempts, due_at, last_outcome)
SELECT v.id, e.id, e.workspace_id, 'waiting', 1, now() + random() * interval '1 hour', 'http_error'
FROM event v JOIN webhook_endpoint e USING (workspace_id) WHERE v.workspace_id = ANY($1)"""
_WAKE: Final = """
UPDATE webhook_endpoint e SET open = false, due_at = first.due_at
FROM (SELECT endpoint_id, min(due_at) AS due_at FROM delivery WHERE workspace_id = ANY($1) GROUP BY 1) first
WHERE e.id = first.endpoint_id"""
_DELIVERIES: Final = "SELECT (SELECT count(*) FROM delivery) + (SELECT count(*) FROM delivery_result)"


class Crowd(NamedTuple):
    """A quiet endpoint alone and beside the others; and `rate`, deliveries made a second."""

    alone: Lags
    beside: Lags
    rate: float = 0


async def waiting(seconds: float, endpoints: int, each: int) -> Crowd:
    """Beside `endpoints` of 500 workspaces that wait with `each` retries in the coming hour."""
    await world.fresh()
    async with Sink() as sink:
        quiet, *owners = await world.workspaces([sink.url()] * (_OWNERS + 1))
        await _copy_endpoints(owners, endpoints // _OWNERS - 1)
        await world.commit(owners, _OWNERS * each)
        await db.rows("TRUNCATE outbox")  # their first attempts were made
        async with Process("relay"), Process("deliver"):
            await isolation.warm(sink, [quiet])
            alone = await isolation.lags(sink, await world.steady([quiet], _RATE, seconds), {quiet})
            await db.rows(_LET_WAIT, owners)
            await db.rows("ANALYZE delivery, webhook_endpoint")
            await db.rows(_WAKE, owners)
            beside = await isolation.lags(sink, await world.steady([quiet], _RATE, seconds), {quiet})
    return Crowd(alone, beside)


async def fan_out(seconds: float, endpoints: int, events: int) -> Crowd:
    """While one workspace has committed `events` that `endpoints` want."""
    await world.fresh()
    async with Sink() as sink, Process("relay"), Process("deliver") as worker:
        quiet, busy = await world.workspaces([sink.url()] * 2)
        await _copy_endpoints([busy], endpoints - 1)
        await isolation.warm(sink, [quiet])
        alone = await isolation.lags(sink, await world.steady([quiet], _RATE, seconds), {quiet})
        before, start = await db.value(_DELIVERIES), time.perf_counter()
        await world.commit([busy], events)
        committed = await world.steady([quiet], _RATE, seconds)
        while await db.value("SELECT EXISTS (SELECT 1 FROM outbox)"):
            committed |= await world.steady([quiet], _RATE, 0.2)
        rate = (await db.value(_DELIVERIES) - before) / (time.perf_counter() - start)
        beside = await isolation.lags(sink, committed, {quiet})
        await worker.kill()  # it has a million to send
    return Crowd(alone, beside, rate)


async def _copy_endpoints(owners: list[str], each: int) -> None:
    """With their secrets, which are bound to no row for that."""
    await secret_box.reseal(secret_box.get(), WebhookEndpoint.secret, bound=False)
    await db.rows(_COPY_ENDPOINTS, owners, each)
