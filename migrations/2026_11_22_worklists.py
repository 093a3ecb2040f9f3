"""Working through leads: saved views, and changes of many leads at once."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T14:05:01:000000"
VERSION = "1.46.0"
DESCRIPTION = "worklists"

UP = """
CREATE TABLE lead_view (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    user_id text COLLATE "C" REFERENCES user_account ON DELETE CASCADE, -- null: everybody has it
    name text NOT NULL, -- empty: the columns that a person sees without a view
    query text NOT NULL, -- the filters and the order, as in the address of the page
    columns text[] NOT NULL, -- names of custom fields
    created_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX lead_view_name ON lead_view (workspace_id, coalesce(user_id, ''), lower(name));

CREATE TABLE bulk_change (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    user_id text COLLATE "C" NOT NULL,
    kind text NOT NULL CHECK (kind IN ('set', 'erase')),
    field text NOT NULL,
    value text, -- null: the field is removed
    query text NOT NULL, -- which leads, as in the address of the page; blank once it has ended
    ids text[], -- or these
    seen_at timestamptz(3) NOT NULL, -- what has changed since is left alone
    state text NOT NULL CHECK (state IN ('running', 'finished', 'cancelled')),
    after text NOT NULL DEFAULT '', -- how far it has come
    done integer NOT NULL DEFAULT 0,
    skipped integer NOT NULL DEFAULT 0,
    left_alone text[] NOT NULL DEFAULT '{}', -- ids of the first that had changed
    created_at timestamptz(3) NOT NULL,
    updated_at timestamptz(3) NOT NULL
);
CREATE INDEX bulk_change_running ON bulk_change (created_at) WHERE state = 'running';
CREATE INDEX bulk_change_latest ON bulk_change (workspace_id, created_at);
"""

DOWN = "DROP TABLE bulk_change, lead_view"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
