-- state
SELECT move_id, suspended_at IS NOT NULL AS suspended, deletion_began_at IS NOT NULL AS ends FROM workspace
WHERE id = :workspace

-- version
SELECT array_agg(name ORDER BY name) FROM migration WHERE app_name = 'leadwire'

-- sending: whether workers have deliveries in hand
-- What a receiver has fetched it may acknowledge here.
SELECT EXISTS (SELECT 1 FROM webhook_endpoint e JOIN delivery d ON d.endpoint_id = e.id
    WHERE e.workspace_id = :workspace AND d.state = 'queued' AND coalesce(d.owner, '') NOT LIKE 'pull:%')
