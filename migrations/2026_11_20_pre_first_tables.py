"""The first tables: the product (workspace to message) and the wire (endpoint, outbox_event, delivery, attempt).

Ids are text under the "C" collation, so their order is the order they were made in. Moments are `timestamptz(3)`: the
precision that is emitted. JSON that Leadwire only stores and forwards is `json`, kept to the letter, not `jsonb`.
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-20T22:30:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "the first tables"

PRODUCT = """
CREATE TABLE workspace (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    created_at timestamptz(3) NOT NULL
);

CREATE TABLE user_account (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    email text NOT NULL,
    role text NOT NULL CHECK (role IN ('admin', 'agent')),
    password_hash text,
    created_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX user_account_email ON user_account (lower(email));

CREATE TABLE api_key (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    name text NOT NULL,
    lookup text COLLATE "C" NOT NULL UNIQUE,
    hash bytea NOT NULL,
    scopes text[] NOT NULL,
    created_at timestamptz(3) NOT NULL,
    expires_at timestamptz(3),
    revoked_at timestamptz(3),
    last_used_at timestamptz(3)
);
CREATE INDEX api_key_workspace ON api_key (workspace_id, created_at);

CREATE TABLE bot (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    name text NOT NULL,
    created_at timestamptz(3) NOT NULL
);
CREATE INDEX bot_workspace ON bot (workspace_id, created_at);

CREATE TABLE lead (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    bot_id text COLLATE "C" NOT NULL REFERENCES bot,
    conversation_id text COLLATE "C" NOT NULL,
    email text,
    name text,
    phone text,
    company text,
    score smallint NOT NULL DEFAULT 0 CHECK (score BETWEEN 0 AND 100),
    source_url text,
    source_campaign text,
    source_referrer text,
    custom_fields json NOT NULL,
    version integer NOT NULL DEFAULT 1,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    CHECK (email IS NOT NULL OR phone IS NOT NULL)
);
CREATE UNIQUE INDEX lead_email ON lead (bot_id, lower(email)) WHERE email IS NOT NULL;
CREATE INDEX lead_phone ON lead (bot_id, phone) WHERE phone IS NOT NULL;
CREATE INDEX lead_newest ON lead (workspace_id, created_at DESC, id DESC);
CREATE INDEX lead_newest_of_bot ON lead (workspace_id, bot_id, created_at DESC, id DESC);
CREATE INDEX lead_score ON lead (workspace_id, score, created_at DESC, id DESC);

CREATE TABLE conversation (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    bot_id text COLLATE "C" NOT NULL REFERENCES bot,
    lead_id text COLLATE "C" REFERENCES lead ON DELETE SET NULL,
    status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'ended', 'handoff')),
    visitor_email text,
    visitor_name text,
    messages_count integer NOT NULL DEFAULT 0,
    source_url text,
    source_campaign text,
    source_referrer text,
    locale text,
    timezone text,
    browser text,
    os text,
    flow_version integer,
    variables json NOT NULL,
    handoff_reason text,
    handoff_requested_at timestamptz(3),
    ended_at timestamptz(3),
    ended_by text CHECK (ended_by IN ('visitor', 'bot', 'agent', 'api', 'system')),
    end_reason text,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL,
    CHECK ((status = 'ended') = (ended_at IS NOT NULL))
);
CREATE INDEX conversation_newest ON conversation (workspace_id, created_at DESC, id DESC);
CREATE INDEX conversation_newest_of_bot ON conversation (workspace_id, bot_id, created_at DESC, id DESC);
CREATE INDEX conversation_status ON conversation (workspace_id, status, created_at DESC, id DESC);
CREATE INDEX conversation_lead ON conversation (lead_id) WHERE lead_id IS NOT NULL;

CREATE TABLE message (
    id text COLLATE "C" NOT NULL,
    workspace_id text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL REFERENCES conversation ON DELETE CASCADE,
    seq integer NOT NULL,
    role text NOT NULL CHECK (role IN ('bot', 'user', 'agent')),
    content text NOT NULL,
    answers text,
    client_message_id text,
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (conversation_id, seq)
);
CREATE UNIQUE INDEX message_client_id ON message (conversation_id, client_message_id)
    WHERE client_message_id IS NOT NULL;
"""

WIRE = """
CREATE TABLE webhook_endpoint (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    url text NOT NULL,
    events text[] NOT NULL,
    enabled boolean NOT NULL DEFAULT false,
    disabled_reason text,
    secret bytea NOT NULL,
    staged_secret bytea,
    admission_window smallint NOT NULL DEFAULT 64 CHECK (admission_window BETWEEN 1 AND 256),
    failing_since timestamptz,
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX webhook_endpoint_workspace ON webhook_endpoint (workspace_id, created_at);

CREATE TABLE outbox_event (
    id text COLLATE "C" NOT NULL,
    workspace_id text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    conversation_id text COLLATE "C",
    lead_id text COLLATE "C",
    body text NOT NULL,
    test_endpoint_id text COLLATE "C",
    occurred_at timestamptz(3) NOT NULL,
    traceparent text,
    xact xid8 NOT NULL DEFAULT pg_current_xact_id(),
    recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    relayed_at timestamptz,
    PRIMARY KEY (id)
) PARTITION BY RANGE (id);
CREATE INDEX outbox_event_unrelayed ON outbox_event (id) WHERE relayed_at IS NULL;
CREATE INDEX outbox_event_changes ON outbox_event (workspace_id, kind, xact);
CREATE INDEX outbox_event_lead ON outbox_event (lead_id) WHERE lead_id IS NOT NULL;
CREATE INDEX outbox_event_conversation ON outbox_event (conversation_id) WHERE conversation_id IS NOT NULL;

CREATE TABLE delivery (
    event_id text COLLATE "C" NOT NULL,
    endpoint_id text COLLATE "C" NOT NULL,
    workspace_id text COLLATE "C" NOT NULL,
    state text NOT NULL CHECK (state IN ('waiting', 'queued', 'delivered', 'dead', 'cancelled')),
    attempts smallint NOT NULL DEFAULT 0,
    drive smallint NOT NULL DEFAULT 1,
    test boolean NOT NULL DEFAULT false,
    due_at timestamptz NOT NULL,
    queued_at timestamptz,
    finished_at timestamptz,
    last_outcome text,
    PRIMARY KEY (event_id, endpoint_id)
) PARTITION BY RANGE (event_id);
CREATE INDEX delivery_waiting ON delivery (endpoint_id, due_at) WHERE state = 'waiting';
CREATE INDEX delivery_waiting_test ON delivery (endpoint_id) WHERE state = 'waiting' AND test;
CREATE INDEX delivery_queued ON delivery (endpoint_id, queued_at) WHERE state = 'queued';
CREATE INDEX delivery_dead ON delivery (workspace_id, endpoint_id, event_id) WHERE state = 'dead';

CREATE TABLE attempt (
    event_id text COLLATE "C" NOT NULL,
    endpoint_id text COLLATE "C" NOT NULL,
    drive smallint NOT NULL,
    number smallint NOT NULL,
    counted boolean NOT NULL,
    started_at timestamptz NOT NULL,
    duration_ms integer NOT NULL,
    outcome text NOT NULL CHECK (outcome IN ('delivered', 'http_3xx', 'http_4xx', 'http_5xx', 'timeout', 'dns_error',
        'connect_error', 'tls_error', 'protocol_error', 'blocked_address', 'gone')),
    http_status smallint,
    error text,
    response_body text,
    PRIMARY KEY (event_id, endpoint_id, started_at)
) PARTITION BY RANGE (event_id);

CREATE TABLE outbox_event_default PARTITION OF outbox_event DEFAULT;
CREATE TABLE delivery_default PARTITION OF delivery DEFAULT WITH (fillfactor = 80);
CREATE TABLE attempt_default PARTITION OF attempt DEFAULT;
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
        FOREACH parent IN ARRAY ARRAY['outbox_event', 'delivery', 'attempt'] LOOP
            child := parent || '_' || to_char(day, 'YYYYMMDD');
            CONTINUE WHEN to_regclass(child) IS NOT NULL;
            EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL) %s', child, parent,
                CASE parent WHEN 'delivery' THEN 'WITH (fillfactor = 80)' ELSE '' END);
            EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= $1 AND %2$I < $2 RETURNING *)
                INSERT INTO %I SELECT * FROM moved', parent || '_default',
                CASE parent WHEN 'outbox_event' THEN 'id' ELSE 'event_id' END, child) USING floor, ceiling;
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
DROP TABLE attempt, delivery, outbox_event, webhook_endpoint, message, conversation, lead, bot, api_key, user_account,
    workspace CASCADE;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, PRODUCT + WIRE + PARTITIONS, DOWN)
