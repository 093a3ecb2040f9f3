-- {events}: of each kind the newest events, up to a most, by the index of workspace, kind and xact
FROM unnest(:kinds::text[]) AS wanted(kind) LEFT JOIN LATERAL (
    SELECT v.* FROM {servers}, LATERAL (
        SELECT v.id, v.occurred_at, coalesce(v.lead_id, v.conversation_id) AS subject, v.body FROM event v
        WHERE v.workspace_id = :workspace AND v.kind = wanted.kind AND v.id >= :since AND v.occurred_at >= :moment
            AND v.test_endpoint_id IS NULL AND v.xact >= server.since AND v.xact < server.until
        ORDER BY v.xact DESC LIMIT :most) AS v LIMIT :most) AS few ON true

-- {passes}: whether one passes the filter
(:path::text IS NULL OR passes_filter(:path::text::jsonpath, few.body))

-- counted: how many there are, and how many of them pass
SELECT wanted.kind, count(few.id), count(few.id) FILTER (WHERE {passes}) {events} GROUP BY wanted.kind

-- newest: the newest three that pass
SELECT few.id, wanted.kind, few.occurred_at, few.subject, few.body {events}
WHERE few.body <> '' AND {passes} ORDER BY few.id DESC LIMIT 3
