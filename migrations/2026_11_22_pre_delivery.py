"""The tables of `delivery`: endpoints, events, deliveries, attempts, hourly counts, redrive jobs.

What is still to be done is in small tables, `outbox` and `delivery`, whose rows come and go. What has happened is in
`event`, `delivery_result` and `attempt`, partitioned by event id, one partition a day: what is old is dropped, not
deleted.
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T02:30:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "delivery"

TABLES = """
CREATE TABLE webhook_endpoint (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    url text NOT NULL,
    events text[] NOT NULL,
    enabled boolean NOT NULL DEFAULT false,
    disabled_reason text,
    secret bytea NOT NULL, -- sealed, as is the next
    staged_secret bytea, -- the next one, during a rotation
    staged_at timestamptz,
    headers bytea, -- the customer's own, sealed JSON: they may hold a password
    ordered boolean NOT NULL DEFAULT false,
    numbered boolean NOT NULL DEFAULT false, -- its deliveries carry numbers without gaps
    rate_limit int CHECK (rate_limit BETWEEN 1 AND 60000), -- deliveries a minute
    rate_tokens float8 NOT NULL DEFAULT 0, -- the bucket of that limit, as it was at rate_at
    rate_at timestamptz,
    -- A change may queue deliveries to it by itself: nothing waits, and it has neither order nor rate.
    open boolean NOT NULL DEFAULT false,
    due_at timestamptz NOT NULL DEFAULT 'infinity', -- when admission has to look at what waits for it
    paused_until timestamptz, -- as its receiver asked for with Retry-After
    -- How many of its deliveries may be queued at a time.
    admission_window smallint NOT NULL DEFAULT 256 CHECK (admission_window BETWEEN 1 AND 256),
    failing_since timestamptz,
    failures int NOT NULL DEFAULT 0, -- failed attempts since then
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL
) WITH (fillfactor = 70); -- outcomes update it often: a new version fits into its page
CREATE INDEX webhook_endpoint_workspace ON webhook_endpoint (workspace_id, created_at);
CREATE INDEX webhook_endpoint_due ON webhook_endpoint (due_at) WHERE enabled AND due_at < 'infinity';

CREATE SEQUENCE outbox_position;
CREATE TABLE event (
    id text COLLATE "C" NOT NULL,
    workspace_id text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    conversation_id text COLLATE "C", -- with lead_id: whom it is about, for erasure
    lead_id text COLLATE "C",
    subject text COLLATE "C", -- within which order is kept: its conversation, or else its lead
    -- Taken while the row of the subject is locked: the order of its changes, whatever the hosts' clocks say.
    position bigint NOT NULL DEFAULT nextval('outbox_position'),
    body text NOT NULL, -- the text that is signed and sent
    test_endpoint_id text COLLATE "C", -- a test event goes to this endpoint alone
    occurred_at timestamptz(3) NOT NULL,
    traceparent text,
    xact xid8 NOT NULL DEFAULT pg_current_xact_id(), -- makes exact totals and a feed without gaps possible
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX event_changes ON event (workspace_id, kind, xact);
CREATE INDEX event_lead ON event (lead_id) WHERE lead_id IS NOT NULL;
CREATE INDEX event_conversation ON event (conversation_id) WHERE conversation_id IS NOT NULL;

-- Rows of the next two live for milliseconds. Vacuum looks after a number of dead rows, whatever the size is, and does
-- not sleep.
CREATE TABLE outbox (
    event_id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    subject text COLLATE "C",
    position bigint NOT NULL,
    test_endpoint_id text COLLATE "C",
    recorded_at timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX outbox_in_order ON outbox (workspace_id, position);

CREATE TABLE delivery (
    event_id text COLLATE "C" NOT NULL,
    endpoint_id text COLLATE "C" NOT NULL,
    workspace_id text COLLATE "C" NOT NULL,
    state text NOT NULL CHECK (state IN ('waiting', 'queued')),
    attempts smallint NOT NULL DEFAULT 0, -- of this generation; claim and record compare it
    generation smallint NOT NULL DEFAULT 1, -- +1 with each redrive
    test boolean NOT NULL DEFAULT false,
    subject text COLLATE "C", -- set where the endpoint wants order: one at a time within a subject
    position bigint, -- the event's, beside the subject
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    due_at timestamptz NOT NULL, -- infinity: behind another of its subject, or in quarantine
    queued_at timestamptz,
    owner text, -- the worker that claimed it last
    lease_until timestamptz, -- until then no other worker may claim it
    set_aside_at timestamptz, -- in quarantine until an operator releases it
    last_outcome text,
    sequence bigint, -- its number, where the endpoint is numbered; on disk before it is sent
    PRIMARY KEY (event_id, endpoint_id)
) WITH (fillfactor = 70, -- a claim is a new version in the same page
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX delivery_waiting ON delivery (endpoint_id, due_at) WHERE state = 'waiting';
CREATE INDEX delivery_queued ON delivery (endpoint_id, event_id) WHERE state = 'queued'; -- counts, and claims, too
CREATE INDEX delivery_in_order ON delivery (endpoint_id, subject, position) WHERE subject IS NOT NULL;
CREATE INDEX delivery_set_aside ON delivery (set_aside_at) WHERE set_aside_at IS NOT NULL;

CREATE TABLE endpoint_sequence (
    endpoint_id text COLLATE "C" PRIMARY KEY REFERENCES webhook_endpoint ON DELETE CASCADE,
    last bigint NOT NULL -- the highest number given to a delivery
) WITH (fillfactor = 50);

CREATE TABLE discard (
    endpoint_id text COLLATE "C" PRIMARY KEY,
    until timestamptz NOT NULL -- deliveries that were made before are to be canceled
);

CREATE TABLE delivery_result (
    event_id text COLLATE "C" NOT NULL,
    endpoint_id text COLLATE "C" NOT NULL,
    workspace_id text COLLATE "C" NOT NULL,
    state text NOT NULL CHECK (state IN ('delivered', 'dead', 'cancelled')),
    attempts smallint NOT NULL,
    generation smallint NOT NULL,
    test boolean NOT NULL,
    created_at timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    last_outcome text,
    sequence bigint,
    PRIMARY KEY (event_id, endpoint_id)
) PARTITION BY RANGE (event_id);
CREATE INDEX delivery_result_dead ON delivery_result (workspace_id, endpoint_id, event_id) WHERE state = 'dead';
CREATE INDEX delivery_result_sequence ON delivery_result (endpoint_id, sequence) WHERE sequence IS NOT NULL;

CREATE VIEW every_delivery AS
SELECT event_id, endpoint_id, workspace_id, state, attempts, generation, test, created_at, due_at,
    queued_at, set_aside_at, NULL::timestamptz AS finished_at, last_outcome, sequence FROM delivery
UNION ALL
SELECT event_id, endpoint_id, workspace_id, state, attempts, generation, test, created_at, finished_at, NULL,
    NULL, finished_at, last_outcome, sequence FROM delivery_result;

CREATE TABLE attempt (
    event_id text COLLATE "C" NOT NULL,
    endpoint_id text COLLATE "C" NOT NULL,
    generation smallint NOT NULL, -- the delivery's at that time
    number smallint NOT NULL,
    counted boolean NOT NULL, -- false: another worker had recorded before
    started_at timestamptz NOT NULL,
    duration_ms integer NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('delivered', 'http_3xx', 'http_4xx', 'http_5xx', 'timeout', 'dns_error',
        'connect_error', 'tls_error', 'protocol_error', 'blocked_address', 'gone')),
    http_status smallint,
    error text,
    response_body text, -- its first 2 KiB
    PRIMARY KEY (event_id, endpoint_id, started_at)
) PARTITION BY RANGE (event_id);

CREATE TABLE event_default PARTITION OF event DEFAULT;
CREATE TABLE delivery_result_default PARTITION OF delivery_result DEFAULT;
CREATE TABLE attempt_default PARTITION OF attempt DEFAULT;

CREATE TABLE endpoint_hour (
    endpoint_id text COLLATE "C" NOT NULL REFERENCES webhook_endpoint ON DELETE CASCADE,
    hour timestamptz NOT NULL,
    delivered int NOT NULL,
    failed int NOT NULL,
    took int[] NOT NULL, -- how many attempts took how long, so that a plot reads no million attempts
    last_at timestamptz NOT NULL,
    last_outcome text NOT NULL,
    PRIMARY KEY (endpoint_id, hour)
);
CREATE INDEX endpoint_hour_old ON endpoint_hour (hour);

CREATE TABLE redrive_job (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    endpoint_id text COLLATE "C", -- null: every endpoint of the workspace
    replay boolean NOT NULL, -- every event, not only dead letters
    kinds text[],
    outcomes text[],
    first_event text COLLATE "C" NOT NULL, -- from this event id up to end_event: a range of time
    end_event text COLLATE "C" NOT NULL,
    per_second int NOT NULL CHECK (per_second BETWEEN 1 AND 1000),
    state text NOT NULL CHECK (state IN ('running', 'paused', 'cancelled', 'finished')),
    total int NOT NULL,
    done int NOT NULL DEFAULT 0,
    after_event text COLLATE "C" NOT NULL DEFAULT '', -- all up to this event and endpoint is done
    after_endpoint text COLLATE "C" NOT NULL DEFAULT '',
    stepped_at timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL
);
CREATE INDEX redrive_job_workspace ON redrive_job (workspace_id, created_at);
CREATE INDEX redrive_job_running ON redrive_job (id) WHERE state = 'running';
"""

PARTITIONS = """
CREATE FUNCTION event_id_floor(day date) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
-- The lowest event id of `day`: 48 bits of UTC milliseconds in base32, the rest zeros (see infrastructure/ids.py).
DECLARE
    digits CONSTANT text := '0123456789abcdefghjkmnpqrstvwxyz';
    ms bigint := extract(epoch FROM day)::bigint * 1000;
    made text := '';
BEGIN
    FOR place IN 1..10 LOOP
        made := substr(digits, (ms & 31)::int + 1, 1) || made;
        ms := ms >> 5;
    END LOOP;
    RETURN 'evt_' || made || repeat('0', 16);
END $$;

CREATE FUNCTION make_event_partitions(first date, last date) RETURNS int LANGUAGE plpgsql AS $$
-- One partition a day of each of the three tables. Rows that the default partition caught meanwhile move over.
DECLARE
    made int := 0;
    day date;
    parent text;
    child text;
    floor text;
    ceiling text;
BEGIN
    PERFORM pg_advisory_xact_lock(7222);
    FOR day IN SELECT generate_series(first, last, interval '1 day')::date LOOP
        floor := event_id_floor(day);
        ceiling := event_id_floor(day + 1);
        FOREACH parent IN ARRAY ARRAY['event', 'delivery_result', 'attempt'] LOOP
            child := parent || '_' || to_char(day, 'YYYYMMDD');
            CONTINUE WHEN to_regclass(child) IS NOT NULL;
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL)', child, parent);
            EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= $1 AND %2$I < $2 RETURNING *)
                INSERT INTO %I SELECT * FROM moved', parent || '_default',
                CASE parent WHEN 'event' THEN 'id' ELSE 'event_id' END, child) USING floor, ceiling;
            EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                parent, child, floor, ceiling);
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;

SELECT make_event_partitions((now() AT TIME ZONE 'UTC')::date - 1, (now() AT TIME ZONE 'UTC')::date + 7);
"""

DOWN = """
DROP FUNCTION make_event_partitions, event_id_floor;
DROP VIEW every_delivery;
DROP TABLE redrive_job, endpoint_hour, attempt, delivery_result, discard, endpoint_sequence, delivery, outbox, event,
    webhook_endpoint;
DROP SEQUENCE outbox_position;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, TABLES + PARTITIONS, DOWN)
