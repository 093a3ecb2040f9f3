-- set_aside: let what the entries name wait for an operator, but for what another worker is sending
UPDATE delivery d SET state = 'waiting', due_at = 'infinity', queued_at = NULL, owner = NULL, lease_until = NULL,
    set_aside_at = now()
FROM {asked}
WHERE d.event_id = asked.event_id AND d.endpoint_id = asked.endpoint_id AND d.attempts = asked.attempts
  AND d.state = 'queued' AND {free}
RETURNING d.event_id, d.endpoint_id, d.workspace_id, d.subject

-- {aside}: what is set aside, of one event or all
set_aside_at IS NOT NULL AND (:event_id::text IS NULL OR event_id = :event_id)

-- endpoints: those of what is set aside
SELECT endpoint_id FROM delivery WHERE {aside}

-- release: queue what is set aside; what was redriven meanwhile and comes before it in an order is sent first
UPDATE delivery d SET set_aside_at = NULL, state = CASE WHEN behind THEN 'waiting' ELSE 'queued' END,
    due_at = CASE WHEN behind THEN d.due_at ELSE now() END, queued_at = CASE WHEN NOT behind THEN now() END
FROM (SELECT a.event_id, a.endpoint_id, EXISTS (SELECT 1 FROM delivery f WHERE f.endpoint_id = a.endpoint_id
        AND f.subject = a.subject AND f.position < a.position) AS behind FROM delivery a WHERE {aside}) aside
WHERE d.event_id = aside.event_id AND d.endpoint_id = aside.endpoint_id AND d.set_aside_at IS NOT NULL
RETURNING d.event_id, d.endpoint_id, d.attempts, d.state

-- listed
SELECT d.event_id, d.endpoint_id, v.kind FROM delivery d JOIN event v ON v.id = d.event_id
WHERE d.set_aside_at IS NOT NULL ORDER BY d.set_aside_at, d.event_id
