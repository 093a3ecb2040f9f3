"""Ten days of deliveries: 1 % dead, 0.5 % waiting, the rest delivered; attempts and hourly figures to match."""

from datetime import timedelta

from leadwire.domain.webhooks import changes
from leadwire.infrastructure import clock, db
from ops.bench.api.data import id_of

_ENDPOINTS = 4
_DAYS = 10
_KINDS = "ARRAY['message.sent', 'message.received', 'lead.created', 'lead.updated', 'conversation.started']"

_EVENTS = f"""
INSERT INTO event (id, workspace_id, kind, lead_id, body, occurred_at, recorded_at, xact, subject)
SELECT left(event_id_floor(at::date), 14) || lpad(n::text, 16, '0'), $1, ({_KINDS})[1 + n % 5],
    {id_of("lead", "(1 + n % $4::int)")},
    '{{"event":"message.sent","timestamp":"2026-01-02T03:04:05.678Z","data":' || to_json(repeat('x', 200)) || '}}',
    at, at, (1 + n * (pg_current_xact_id()::text::bigint - 1) / $2)::text::xid8, {id_of("lead", "(1 + n % $4::int)")}
FROM generate_series(1, $2::int) n, LATERAL (SELECT $3::timestamptz + n * interval '{_DAYS} days' / $2 AS at) t"""
_DELIVERIES = """
WITH made AS (
    SELECT v.id AS event_id, e.id AS endpoint_id, v.occurred_at AS at, CASE
        WHEN hashtext(v.id || e.id) % 100 = 0 THEN 'dead' WHEN hashtext(v.id || e.id) % 200 = 1 THEN 'waiting'
        ELSE 'delivered' END AS state
    FROM event v, webhook_endpoint e WHERE v.workspace_id = $1 AND e.workspace_id = $1
), waiting AS (
    INSERT INTO delivery (event_id, endpoint_id, workspace_id, state, attempts, created_at, due_at, last_outcome)
    SELECT event_id, endpoint_id, $1, state, 2, at, at, 'http_5xx' FROM made WHERE state = 'waiting'
)
INSERT INTO delivery_result (event_id, endpoint_id, workspace_id, state, attempts, generation, test, created_at,
    finished_at, last_outcome)
SELECT event_id, endpoint_id, $1, state, CASE state WHEN 'dead' THEN 4 ELSE 1 END, 1, false, at, at,
    CASE state WHEN 'delivered' THEN 'delivered' ELSE 'http_5xx' END
FROM made WHERE state <> 'waiting'"""
_ATTEMPTS = """
INSERT INTO attempt (event_id, endpoint_id, generation, number, counted, started_at, duration_ms, outcome, http_status)
SELECT event_id, endpoint_id, 1, n, true, due_at + n * interval '1 minute', 20, last_outcome,
    CASE last_outcome WHEN 'delivered' THEN 204 ELSE 500 END
FROM every_delivery, generate_series(1, attempts) n"""
_HOURS = """
INSERT INTO endpoint_hour SELECT id, date_trunc('hour', now()) - n * interval '1 hour', 100, 3,
    ARRAY[10, 40, 30, 10, 5, 3, 2, 1, 1, 1, 0, 0, 0], now(), 'delivered'
FROM webhook_endpoint, generate_series(0, 239) n"""


async def make(workspace: str, deliveries: int, leads: int) -> int:
    """Fill the tables, with events of all `leads` by turns; answers how many deliveries there are then."""
    for number in range(_ENDPOINTS):
        made = await changes.create(workspace, f"https://receiver.example.com/hooks/{number}", ["lead.created"])
        await changes.enable(workspace, made.id)
    first = clock.now() - timedelta(days=_DAYS)
    await db.rows("SELECT make_event_partitions($1, $2)", first.date(), clock.now().date())
    await db.rows(_EVENTS, workspace, deliveries // _ENDPOINTS, first, leads)
    await db.rows(_DELIVERIES, workspace)
    await db.rows(_ATTEMPTS)
    await db.rows(_HOURS)
    await db.rows("VACUUM (ANALYZE)")
    return int(await db.value("SELECT count(*) FROM every_delivery"))
