"""Single sign-on: a workspace's OpenID providers, who is who at them, and which sessions they began."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T10:31:07:000000"
VERSION = "1.38.0"
DESCRIPTION = "single sign-on"

UP = """
CREATE TABLE identity_provider (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    name text NOT NULL,
    issuer text NOT NULL,
    client_id text NOT NULL,
    client_secret bytea, -- sealed; null: not set up yet
    domains text[] NOT NULL, -- of the e-mail addresses that it may assert, in lower case
    trusts_email boolean NOT NULL DEFAULT false, -- without email_verified
    default_role text CHECK (default_role IN ('admin', 'agent', 'viewer')), -- null: makes no accounts
    role_claim text NOT NULL DEFAULT '', -- empty: a role stays as it is
    roles json NOT NULL DEFAULT '{}', -- value of that claim -> role
    created_at timestamptz(3) NOT NULL
);
CREATE INDEX identity_provider_workspace ON identity_provider (workspace_id, created_at);
CREATE INDEX identity_provider_domains ON identity_provider USING gin (domains);

CREATE TABLE user_identity (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    provider_id text COLLATE "C" NOT NULL REFERENCES identity_provider ON DELETE CASCADE,
    subject text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" REFERENCES user_account ON DELETE SET NULL, -- null: an admin has removed the account
    created_at timestamptz(3) NOT NULL,
    UNIQUE (provider_id, subject)
);
CREATE INDEX user_identity_user ON user_identity (user_id);
CREATE INDEX user_identity_workspace ON user_identity (workspace_id, id);

-- What a provider or a browser may send once.
CREATE TABLE sign_on_used (
    hash bytea PRIMARY KEY, -- SHA-256
    provider_id text COLLATE "C" NOT NULL REFERENCES identity_provider ON DELETE CASCADE,
    until timestamptz NOT NULL
);
CREATE INDEX sign_on_used_provider ON sign_on_used (provider_id);

ALTER TABLE workspace ADD COLUMN sso_enforced boolean NOT NULL DEFAULT false;
ALTER TABLE user_account ADD COLUMN break_glass boolean NOT NULL DEFAULT false; -- signs in by password even so
ALTER TABLE user_session
    ADD COLUMN provider_id text COLLATE "C" REFERENCES identity_provider ON DELETE CASCADE, -- null: by password
    ADD COLUMN provider_session text COLLATE "C"; -- the provider's sid
CREATE INDEX user_session_provider ON user_session (provider_id) WHERE provider_id IS NOT NULL;
CREATE INDEX user_account_domain ON user_account (split_part(lower(email), '@', 2), workspace_id);
"""

DOWN = """
DROP INDEX user_account_domain;
ALTER TABLE user_session DROP COLUMN provider_id, DROP COLUMN provider_session;
ALTER TABLE user_account DROP COLUMN break_glass;
ALTER TABLE workspace DROP COLUMN sso_enforced;
DROP TABLE sign_on_used, user_identity, identity_provider;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
