-- {silent}: conversations to be nudged or ended
-- After a nudge the rest of the minutes runs from it. Every message sets `updated_at`. What a bot began elsewhere and
-- was imported has no visit; what no bot began has no version of a flow either, and is not silent.
SELECT c.id, c.workspace_id, c.bot_id, c.flow_version, over.so AS over, c.updated_at,
    EXISTS (SELECT FROM blocked_visitor b WHERE b.workspace_id = v.workspace_id AND b.address = v.address) AS blocked
FROM conversation c LEFT JOIN visit v ON v.conversation_id = c.id,
LATERAL (SELECT now() - c.updated_at > CASE
    WHEN c.status = 'handoff' THEN interval '24 hours'
    WHEN v.nudged_at >= c.updated_at THEN (v.inactivity_minutes - v.nudge_minutes) * interval '1 minute'
    ELSE coalesce(v.inactivity_minutes, 30) * interval '1 minute' END AS so) over
WHERE c.status <> 'ended' AND c.snoozed_until IS NULL AND c.updated_at < now() - interval '1 minute'
  AND (v.conversation_id IS NOT NULL OR c.flow_version IS NOT NULL)
  AND (over.so OR c.status = 'active' AND v.nudged_at IS NULL
       AND now() - c.updated_at > v.nudge_minutes * interval '1 minute')

-- silent
SELECT id, workspace_id FROM ({silent}) silent
WHERE NOT EXISTS (SELECT 1 FROM job j WHERE j.kind = 'silence' AND j.key = silent.id) ORDER BY updated_at LIMIT 500

-- one
{silent} AND c.id = :conversation

-- lock_one
{silent} AND c.id = :conversation FOR UPDATE OF c SKIP LOCKED
