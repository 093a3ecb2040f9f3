"""The tables of `domain/accounts`: workspaces, people and their sessions, API keys, the audit log.

True of every migration: ids are text under the "C" collation, so they sort by the time they were made at. Times are
`timestamptz(3)` where they are returned or sent: to the millisecond. JSON that is only stored and returned is `json`,
which keeps its text, not `jsonb`.
"""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T00:01:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "accounts"

UP = """
CREATE TABLE workspace (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    created_at timestamptz(3) NOT NULL
);

CREATE TABLE user_account (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    email text NOT NULL,
    role text NOT NULL CHECK (role IN ('admin', 'agent', 'viewer')),
    password_hash text,
    totp_secret bytea, -- sealed; null: the password is enough
    totp_step bigint, -- of the last code used, so that no code is taken twice
    created_at timestamptz(3) NOT NULL
);
CREATE UNIQUE INDEX user_account_email ON user_account (lower(email));

CREATE TABLE user_session (
    id text COLLATE "C" PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES user_account ON DELETE CASCADE,
    hash bytea NOT NULL UNIQUE, -- SHA-256 of the cookie
    created_at timestamptz(3) NOT NULL,
    seen_at timestamptz(3) NOT NULL,
    confirmed_at timestamptz(3) NOT NULL, -- when the password was last given
    present_at timestamptz(3), -- when it last had the inbox open
    address text NOT NULL,
    agent text NOT NULL, -- the browser's User-Agent
    flash text -- what the next page shows once
);
CREATE INDEX user_session_user ON user_session (user_id, created_at);

CREATE TABLE invitation (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    email text, -- null: whoever opens it chooses
    role text NOT NULL CHECK (role IN ('admin', 'agent', 'viewer')),
    hash bytea NOT NULL UNIQUE, -- SHA-256 of the link's token
    created_at timestamptz(3) NOT NULL,
    expires_at timestamptz(3) NOT NULL
);
CREATE INDEX invitation_workspace ON invitation (workspace_id, created_at);

CREATE TABLE api_key (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace,
    name text NOT NULL,
    lookup text COLLATE "C" NOT NULL UNIQUE, -- the readable part of the key, which finds the row
    hash bytea NOT NULL, -- SHA-256 of the key
    scopes text[] NOT NULL,
    created_at timestamptz(3) NOT NULL,
    expires_at timestamptz(3),
    revoked_at timestamptz(3),
    last_used_at timestamptz(3)
);
CREATE INDEX api_key_workspace ON api_key (workspace_id, created_at);

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
CREATE INDEX audit_entry_actor ON audit_entry (workspace_id, actor, id);
CREATE INDEX audit_entry_action ON audit_entry (workspace_id, action, id);
"""

DOWN = "DROP TABLE audit_entry, api_key, invitation, user_session, user_account, workspace"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
