"""Mail: what is to be sent, addresses that were refused; links to another password, and browsers that are known."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T11:00:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "mail"

UP = """
CREATE TABLE mail (
    id text COLLATE "C" PRIMARY KEY, -- in its Message-ID
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    user_id text COLLATE "C" REFERENCES user_account ON DELETE CASCADE, -- whose account; null: no account is needed
    about text COLLATE "C", -- a conversation, with whose erasure it goes
    kind text NOT NULL,
    recipient text NOT NULL,
    data bytea, -- sealed; null once it is sent
    state text NOT NULL CHECK (state IN ('waiting', 'sent', 'dead')),
    priority smallint NOT NULL, -- the lowest first
    attempts integer NOT NULL DEFAULT 0,
    created_at timestamptz(3) NOT NULL,
    due_at timestamptz(3) NOT NULL DEFAULT now(), -- while it is being sent: when somebody else may
    finished_at timestamptz(3),
    error text
);
CREATE INDEX mail_due ON mail (priority, due_at) WHERE state = 'waiting';
CREATE INDEX mail_finished ON mail (state, finished_at) WHERE state <> 'waiting';
CREATE INDEX mail_workspace ON mail (workspace_id, recipient);
CREATE INDEX mail_user ON mail (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX mail_about ON mail (about) WHERE about IS NOT NULL;

CREATE TABLE mail_suppression (
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    address text NOT NULL,
    reason text NOT NULL, -- what the mail server said
    created_at timestamptz(3) NOT NULL,
    PRIMARY KEY (workspace_id, address)
);

CREATE TABLE password_reset (
    user_id text COLLATE "C" PRIMARY KEY REFERENCES user_account ON DELETE CASCADE,
    hash bytea NOT NULL UNIQUE, -- SHA-256 of the link's token
    expires_at timestamptz(3) NOT NULL
);

ALTER TABLE user_account ADD COLUMN known_browsers text[] NOT NULL DEFAULT '{}'; -- SHA-256 of cookies, the latest last
"""

DOWN = """
ALTER TABLE user_account DROP COLUMN known_browsers;
DROP TABLE password_reset, mail_suppression, mail;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
