"""Figures: counts of what happens with bots by day, response headers of receivers, and first attempts by hour."""

from piccolo.apps.migrations.auto.migration_manager import MigrationManager

from leadwire.infrastructure.db.migrations import migration

ID = "2026-11-22T14:06:00:000000"
VERSION = "1.46.0"
DESCRIPTION = "figures"

WEBSITE = (
    r"coalesce(regexp_replace(lower(substring(source_referrer FROM '^https?://(?:[^/?#@]*@)?([^/:?#]+)')),"
    r" '^www\.', ''), 'Direct')"
)
UP = f"""
CREATE TABLE bot_count (
    bot_id text COLLATE "C" NOT NULL REFERENCES bot ON DELETE CASCADE,
    day date NOT NULL, -- UTC
    kind text NOT NULL,
    name text NOT NULL DEFAULT '', -- of the node, the website or the campaign
    total integer NOT NULL,
    PRIMARY KEY (bot_id, day, kind, name)
);
CREATE INDEX bot_count_old ON bot_count (day);
ALTER TABLE attempt ADD COLUMN response_headers text; -- JSON, bounded, without secrets
ALTER TABLE endpoint_hour
    ADD COLUMN first_delivered int NOT NULL DEFAULT 0, -- first attempts only
    ADD COLUMN first_failed int NOT NULL DEFAULT 0;

-- What is known of the past: not who saw or opened the widget, nor the steps.
INSERT INTO bot_count (bot_id, day, kind, name, total)
SELECT bot_id, (at AT TIME ZONE 'UTC')::date, kind, left(name, 200), count(*) FROM (
    SELECT c.bot_id, c.created_at AS at, known.kind, known.name FROM conversation c CROSS JOIN LATERAL (VALUES
        ('started', ''),
        ('lead', CASE WHEN c.lead_id IS NOT NULL THEN '' END),
        ('handoff', CASE WHEN c.handoff_reason <> 'taken over by an operator' THEN '' END),
        ('source', {WEBSITE}),
        ('campaign', nullif(c.source_campaign, ''))) AS known (kind, name)
    WHERE c.created_at > now() - interval '184 days' AND known.name IS NOT NULL
    UNION ALL
    SELECT l.bot_id, l.created_at, known.kind, known.name FROM lead l CROSS JOIN LATERAL (VALUES
        ('source_lead', {WEBSITE}),
        ('campaign_lead', nullif(l.source_campaign, ''))) AS known (kind, name)
    WHERE l.created_at > now() - interval '184 days' AND known.name IS NOT NULL
) AS past GROUP BY 1, 2, 3, 4;
"""

DOWN = """
DROP TABLE bot_count;
ALTER TABLE attempt DROP COLUMN response_headers;
ALTER TABLE endpoint_hour DROP COLUMN first_delivered, DROP COLUMN first_failed;
"""


async def forwards() -> MigrationManager:
    return migration(ID, DESCRIPTION, UP, DOWN)
