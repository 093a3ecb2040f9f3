"""Slack and Teams addresses that people are told at, as well as by mail."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-24T23:45:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "notice_addresses"

UP = """
CREATE TABLE notice_address (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    service text NOT NULL CHECK (service IN ('slack', 'teams')),
    host text NOT NULL, -- of the URL: what is shown of it
    url bytea NOT NULL, -- sealed
    kinds text[] NOT NULL,
    created_at timestamptz NOT NULL,
    pending text[] NOT NULL DEFAULT '{}', -- messages that are still to be sent, in order
    error text, -- of the last attempt
    stopped_at timestamptz -- it answered that there is no such address
);
CREATE INDEX notice_address_workspace ON notice_address (workspace_id, id);
"""

DOWN = """
DROP TABLE notice_address;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
