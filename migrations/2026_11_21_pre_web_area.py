"""The web area: signed-in sessions, one-time links, who did what; and people who may only look."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-21T07:30:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "the web area"

UP = """
ALTER TABLE user_account DROP CONSTRAINT user_account_role_check,
    ADD CONSTRAINT user_account_role_check CHECK (role IN ('admin', 'agent', 'viewer'));

CREATE TABLE user_session (
    id text COLLATE "C" PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES user_account ON DELETE CASCADE,
    hash bytea NOT NULL UNIQUE,
    created_at timestamptz(3) NOT NULL,
    seen_at timestamptz(3) NOT NULL,
    confirmed_at timestamptz(3) NOT NULL,
    address text NOT NULL,
    agent text NOT NULL,
    flash text
);
CREATE INDEX user_session_user ON user_session (user_id, created_at);

CREATE TABLE invitation (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    email text,
    role text NOT NULL CHECK (role IN ('admin', 'agent', 'viewer')),
    hash bytea NOT NULL UNIQUE,
    created_at timestamptz(3) NOT NULL,
    expires_at timestamptz(3) NOT NULL
);
CREATE INDEX invitation_workspace ON invitation (workspace_id, created_at);

CREATE TABLE audit_entry (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    at timestamptz(3) NOT NULL,
    actor text NOT NULL,
    action text COLLATE "C" NOT NULL,
    subject text NOT NULL,
    detail text NOT NULL,
    address text NOT NULL
);
CREATE INDEX audit_entry_workspace ON audit_entry (workspace_id, id);
"""

DOWN = """
DROP TABLE audit_entry, invitation, user_session;
UPDATE user_account SET role = 'agent' WHERE role = 'viewer';
ALTER TABLE user_account DROP CONSTRAINT user_account_role_check,
    ADD CONSTRAINT user_account_role_check CHECK (role IN ('admin', 'agent'));
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
