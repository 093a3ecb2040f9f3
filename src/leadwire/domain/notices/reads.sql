-- {endpoints}: endpoints in another state than people were told
-- A single failed attempt is no trouble. One works when nothing has failed since its last success, or since a person has
-- enabled it. One is `ending` on the day before it may be disabled, after `FAILING_DAYS`. `due`: reason enough for a
-- mail, which tells of all.
SELECT * FROM (
    SELECT e.workspace_id, e.id, e.url, e.failing_since AS since, e.disabled_reason AS reason,
        e.failing_since + interval '5 days' AS until,
        CASE WHEN NOT e.enabled THEN 'disabled'
            WHEN e.failing_since <= now() - interval '4 days' THEN 'ending'
            ELSE 'failing' END AS state,
        NOT e.enabled OR e.failures >= 3 AND e.failing_since <= now() - interval '5 minutes' AS due
    FROM webhook_endpoint e WHERE (e.failing_since IS NOT NULL OR e.disabled_reason IN ('gone', 'failing'))
      AND CASE WHEN e.enabled THEN e.failures >= 2 ELSE e.disabled_reason IN ('gone', 'failing') END
    UNION ALL
    SELECT e.workspace_id, e.id, e.url, n.at, NULL, NULL, 'working', true
    FROM notice n JOIN webhook_endpoint e ON e.id = n.subject
    WHERE n.kind = 'endpoints' AND n.subject <> '' AND e.enabled AND e.failing_since IS NULL
) AS found WHERE NOT EXISTS (SELECT 1 FROM notice n
    WHERE (n.kind, n.workspace_id, n.subject) = ('endpoints', found.workspace_id, found.id) AND n.state = found.state)

-- {waiting}: visitors who have waited for a minute, and of whom nobody was told since they asked
SELECT * FROM (
    SELECT c.workspace_id, c.id, b.name AS bot, c.handoff_requested_at AS since, c.handoff_requested_at::text AS state,
        true AS due
    FROM conversation c JOIN bot b ON b.id = c.bot_id
    WHERE c.status = 'handoff' AND c.assigned_to IS NULL AND c.handoff_requested_at <= now() - interval '1 minute'
) AS found WHERE NOT EXISTS (SELECT 1 FROM notice n
    WHERE (n.kind, n.workspace_id, n.subject) = ('waiting', found.workspace_id, found.id) AND n.state = found.state)

-- {died}: deliveries that have died, and are no tests
-- Their events are of the last days: one that died later than that after its event is not counted.
d.state = 'dead' AND d.event_id >= :first

-- workspaces_endpoints
SELECT w.id FROM workspace w LEFT JOIN notice n ON (n.kind, n.workspace_id, n.subject) = ('endpoints', w.id, '')
WHERE coalesce(n.at <= now() - :pause::interval, true)
    AND w.id = ANY(ARRAY(SELECT workspace_id FROM ({endpoints}) AS news WHERE due)) ORDER BY w.id

-- workspaces_waiting
SELECT w.id FROM workspace w LEFT JOIN notice n ON (n.kind, n.workspace_id, n.subject) = ('waiting', w.id, '')
WHERE coalesce(n.at <= now() - :pause::interval, true)
    AND w.id = ANY(ARRAY(SELECT workspace_id FROM ({waiting}) AS news WHERE due)) ORDER BY w.id

-- workspaces_dead_letters
-- From one workspace that has dead letters to the next along the index: the others are not read. The first dead letter
-- waits for those that come with it. A minute ago no transaction is open any more that began before.
SELECT w.id FROM workspace w LEFT JOIN notice n ON (n.kind, n.workspace_id, n.subject) = ('dead_letters', w.id, '')
WHERE coalesce(n.at <= now() - :pause::interval, true) AND w.id = ANY(ARRAY(
    WITH RECURSIVE found(id) AS (
        SELECT min(d.workspace_id) FROM delivery_result d WHERE {died}
        UNION ALL SELECT (SELECT min(d.workspace_id) FROM delivery_result d WHERE {died} AND d.workspace_id > found.id)
        FROM found WHERE found.id IS NOT NULL
    ) SELECT id FROM found)) AND EXISTS (
    SELECT 1 FROM delivery_result d WHERE d.workspace_id = w.id AND {died} AND NOT d.test
        AND d.finished_at > coalesce(n.at, now() - interval '1 day') - interval '1 minute'
        AND d.finished_at <= now() - interval '5 minutes') ORDER BY w.id

-- news_endpoints
SELECT * FROM ({endpoints}) AS news WHERE workspace_id = :workspace ORDER BY since, id

-- news_waiting
SELECT * FROM ({waiting}) AS news WHERE workspace_id = :workspace ORDER BY since, id

-- news_dead_letters
-- At most `MOST_DEAD`. `news`: those that are no `delivery.dead`, which an event of that kind would follow again and
-- again.
SELECT e.id, e.url, count(*) AS count, NULL AS state, count(*) FILTER (WHERE dead.event_id <> ALL(ARRAY(SELECT v.id
    FROM event v WHERE v.workspace_id = :workspace AND v.kind = 'delivery.dead' AND v.id >= :first))) AS news
FROM notice n CROSS JOIN LATERAL (
    SELECT d.endpoint_id, d.event_id FROM delivery_result d WHERE d.workspace_id = n.workspace_id AND {died} AND NOT d.test
        AND d.finished_at > coalesce(n.before, n.at - interval '1 day') - interval '1 minute'
        AND d.finished_at <= n.at - interval '1 minute' LIMIT 10000) AS dead
JOIN webhook_endpoint e ON e.id = dead.endpoint_id
WHERE (n.kind, n.workspace_id, n.subject) = ('dead_letters', :workspace, '')
GROUP BY e.id ORDER BY count(*) DESC, e.id

-- addresses
SELECT id, service, host, kinds, error, stopped_at FROM notice_address WHERE workspace_id = :workspace ORDER BY id

-- name
SELECT name FROM workspace WHERE id = :workspace

-- recipients
-- The people of a workspace who are told of a kind.
SELECT u.id, u.email_address AS email, w.name AS workspace FROM user_account u JOIN workspace w ON w.id = u.workspace_id
LEFT JOIN notice_choice c ON c.user_id = u.id
WHERE u.workspace_id = :workspace AND u.role = ANY(:roles::text[])
  AND CASE WHEN c.user_id IS NULL THEN u.role = ANY(:defaults::text[]) ELSE :kind = ANY(c.kinds) END
ORDER BY u.id
