"""What an endpoint can be given beyond a URL: own headers, a rate, order; and jobs that send things again.

`position` counts events in the order in which each subject's changes were made, whatever the clocks of the hosts say.
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-21T01:10:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "endpoint care: order, rates, headers, rotation, redrive jobs"

UP = """
ALTER TABLE webhook_endpoint
    ADD COLUMN staged_at timestamptz,
    ADD COLUMN headers bytea,
    ADD COLUMN ordered boolean NOT NULL DEFAULT false,
    ADD COLUMN rate_limit int CHECK (rate_limit BETWEEN 1 AND 60000),
    ADD COLUMN rate_tokens float8 NOT NULL DEFAULT 0,
    ADD COLUMN rate_at timestamptz,
    ADD COLUMN failures int NOT NULL DEFAULT 0;

CREATE SEQUENCE outbox_position;
ALTER TABLE outbox_event
    ADD COLUMN subject text COLLATE "C",
    ADD COLUMN position bigint NOT NULL DEFAULT nextval('outbox_position');
DROP INDEX outbox_event_unrelayed;
CREATE INDEX outbox_event_unrelayed ON outbox_event (workspace_id, position) WHERE relayed_at IS NULL;

ALTER TABLE delivery
    ADD COLUMN subject text COLLATE "C",
    ADD COLUMN position bigint,
    ADD COLUMN set_aside_at timestamptz;
CREATE INDEX delivery_in_order ON delivery (endpoint_id, subject, position)
    WHERE subject IS NOT NULL AND state IN ('waiting', 'queued');
CREATE INDEX delivery_set_aside ON delivery (set_aside_at) WHERE set_aside_at IS NOT NULL;

CREATE TABLE redrive_job (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    endpoint_id text COLLATE "C",
    replay boolean NOT NULL,
    kinds text[],
    outcomes text[],
    first_event text COLLATE "C" NOT NULL,
    end_event text COLLATE "C" NOT NULL,
    per_second int NOT NULL CHECK (per_second BETWEEN 1 AND 1000),
    state text NOT NULL CHECK (state IN ('running', 'paused', 'cancelled', 'finished')),
    total int NOT NULL,
    done int NOT NULL DEFAULT 0,
    after_event text COLLATE "C" NOT NULL DEFAULT '',
    after_endpoint text COLLATE "C" NOT NULL DEFAULT '',
    stepped_at timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL
);
CREATE INDEX redrive_job_workspace ON redrive_job (workspace_id, created_at);
CREATE INDEX redrive_job_running ON redrive_job (id) WHERE state = 'running';
"""

DOWN = """
DROP TABLE redrive_job;
DROP INDEX delivery_in_order, delivery_set_aside;
ALTER TABLE delivery DROP COLUMN subject, DROP COLUMN position, DROP COLUMN set_aside_at;
DROP INDEX outbox_event_unrelayed;
ALTER TABLE outbox_event DROP COLUMN subject, DROP COLUMN position;
CREATE INDEX outbox_event_unrelayed ON outbox_event (id) WHERE relayed_at IS NULL;
DROP SEQUENCE outbox_position;
ALTER TABLE webhook_endpoint DROP COLUMN staged_at, DROP COLUMN headers, DROP COLUMN ordered,
    DROP COLUMN rate_limit, DROP COLUMN rate_tokens, DROP COLUMN rate_at, DROP COLUMN failures;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
