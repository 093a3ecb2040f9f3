"""The first answers to requests with an Idempotency-Key, kept for 24 hours."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-21T00:10:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "idempotent answers"

UP = """
CREATE TABLE idempotent_answer (
    api_key_id text COLLATE "C" NOT NULL REFERENCES api_key ON DELETE CASCADE,
    key text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    subject text COLLATE "C" NOT NULL,
    status smallint NOT NULL,
    headers json NOT NULL,
    body bytea NOT NULL,
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (api_key_id, key)
);
CREATE INDEX idempotent_answer_subject ON idempotent_answer (subject);
CREATE INDEX idempotent_answer_age ON idempotent_answer (created_at);
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, "DROP TABLE idempotent_answer")
