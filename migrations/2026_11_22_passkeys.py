"""Passkeys and recovery codes. The rows of a person go with their account."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T11:17:00:000000"
VERSION = "1.38.0"
DESCRIPTION = "passkeys"

UP = """
CREATE TABLE passkey (
    id text COLLATE "C" PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES user_account ON DELETE CASCADE,
    name text NOT NULL,
    credential_id bytea NOT NULL UNIQUE,
    public_key bytea NOT NULL, -- COSE
    sign_count bigint NOT NULL, -- of its uses, as the device tells it; 0 where the device does not count
    backed_up boolean NOT NULL, -- whether its provider keeps a copy
    transports text[] NOT NULL,
    created_at timestamptz(3) NOT NULL,
    last_used_at timestamptz(3) -- when the challenge of that use was made
);
CREATE INDEX passkey_user ON passkey (user_id, created_at);

CREATE TABLE recovery_code (
    id text COLLATE "C" PRIMARY KEY,
    user_id text COLLATE "C" NOT NULL REFERENCES user_account ON DELETE CASCADE,
    hash bytea NOT NULL -- SHA-256 of the code
);
CREATE INDEX recovery_code_user ON recovery_code (user_id);
"""

DOWN = "DROP TABLE recovery_code, passkey"


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
