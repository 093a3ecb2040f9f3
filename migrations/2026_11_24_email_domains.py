"""Domains that workspaces prove by a TXT record. Those that providers rely on count without one for 90 days."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-24T02:00:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "domains of e-mail addresses"

UP = """
CREATE TABLE email_domain (
    id text COLLATE "C" PRIMARY KEY,
    workspace_id text COLLATE "C" NOT NULL REFERENCES workspace ON DELETE CASCADE,
    domain text COLLATE "C" NOT NULL, -- in lower case, ASCII
    code text NOT NULL DEFAULT replace(gen_random_uuid()::text, '-', ''), -- of its record
    created_at timestamptz(3) NOT NULL,
    proven_at timestamptz(3),
    missing_since timestamptz(3), -- of a proven one: when its record was missed first
    taken_over_until timestamptz(3), -- a provider relied on it before proofs were asked for
    checked_at timestamptz(3),
    fault text NOT NULL DEFAULT '', -- of the last check, empty without one
    check_at timestamptz(3) NOT NULL DEFAULT now(), -- the next time
    UNIQUE (workspace_id, domain)
);
CREATE UNIQUE INDEX email_domain_proven ON email_domain (domain) WHERE proven_at IS NOT NULL;
CREATE INDEX email_domain_domain ON email_domain (domain);
CREATE INDEX email_domain_check_at ON email_domain (check_at);

INSERT INTO email_domain (id, workspace_id, domain, created_at, taken_over_until)
SELECT 'dom_0' || left(replace(gen_random_uuid()::text, '-', ''), 25), o.*, now(), now() + interval '90 days'
FROM (SELECT DISTINCT p.workspace_id, domain FROM identity_provider p, unnest(p.domains) domain) o;
"""

DOWN = """
DROP TABLE email_domain;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
