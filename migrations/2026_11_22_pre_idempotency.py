"""The table of `infrastructure/idempotency_store.py`: responses to requests with an Idempotency-Key, for 24 hours."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T00:06:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "idempotency"

UP = """
CREATE TABLE idempotent_answer (
    api_key_id text COLLATE "C" NOT NULL REFERENCES api_key ON DELETE CASCADE,
    key text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL, -- of the whole request
    subject text COLLATE "C" NOT NULL, -- the id it is about: deleted with an erased lead
    status smallint NOT NULL,
    headers json NOT NULL,
    body bytea NOT NULL,
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (api_key_id, key)
);
CREATE INDEX idempotent_answer_subject ON idempotent_answer (subject);
CREATE INDEX idempotent_answer_age ON idempotent_answer (created_at);
"""

DOWN = "DROP TABLE idempotent_answer"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
