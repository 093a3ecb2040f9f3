-- tried: endpoints that were tried within some minutes, by how the last attempt ended
SELECT last_outcome, count(*) FROM (
    SELECT DISTINCT ON (endpoint_id) last_outcome FROM endpoint_hour
    WHERE hour >= date_trunc('hour', now() - :minutes * interval '1 minute')
        AND last_at > now() - :minutes * interval '1 minute'
    ORDER BY endpoint_id, hour DESC) AS latest
GROUP BY 1

-- lately
SELECT e.url FROM endpoint_hour h JOIN webhook_endpoint e ON e.id = h.endpoint_id
WHERE h.hour >= date_trunc('hour', now() - interval '1 hour') AND e.url NOT LIKE 'pull:%'
GROUP BY e.id ORDER BY max(h.last_at) DESC LIMIT 100
