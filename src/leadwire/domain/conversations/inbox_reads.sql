-- What the lists of the inbox are made of; `inbox_reads.py` puts them together.

-- {waiting}
c.workspace_id = :workspace AND c.status = 'handoff' AND c.assigned_to IS NULL

-- {mine}
c.workspace_id = :workspace AND c.status = 'handoff' AND c.assigned_to = :user_id
    AND (c.snoozed_until IS NULL OR c.snoozed_until <= :now)

-- {snoozed}
c.workspace_id = :workspace AND c.status = 'handoff' AND c.assigned_to = :user_id AND c.snoozed_until > :now

-- {last}: the last message that is not the bot's
LEFT JOIN LATERAL (
    SELECT m.role, m.created_at FROM message m WHERE m.conversation_id = c.id AND m.role <> 'bot'
    ORDER BY m.conversation_id DESC, m.seq DESC LIMIT 1) AS last ON true

-- {waits_since}: since when the visitor waits for a person: they asked for one, or wrote again after an answer
-- What they wrote to a bot that had the conversation back is no part of it: it ended when they asked for a person again.
-- NULL if they do not.
CASE WHEN c.status <> 'handoff' THEN NULL
    WHEN c.assigned_to IS NULL THEN c.handoff_requested_at
    WHEN last.role IS DISTINCT FROM 'user' THEN NULL WHEN c.first_response_at IS NULL THEN c.handoff_requested_at
    ELSE greatest(c.handoff_requested_at, (
        SELECT w.created_at FROM message w WHERE w.conversation_id = c.id AND w.role = 'user' AND w.seq > (
            SELECT a.seq FROM message a WHERE a.conversation_id = c.id AND a.role = 'agent'
            ORDER BY a.conversation_id DESC, a.seq DESC LIMIT 1) ORDER BY w.conversation_id, w.seq LIMIT 1)) END

-- {words}
(SELECT m.content FROM message m WHERE m.conversation_id = c.id AND m.role = 'user'

-- {latest}
ORDER BY m.conversation_id DESC, m.seq DESC LIMIT 1)

-- {shown}: for each conversation its visitor's name and last words, other than their name or address
-- And what the person has not read, up to `MOST_UNREAD`.
SELECT c.place, c.total, c.id, c.bot_id, coalesce((SELECT coalesce(l.name, l.email) FROM lead l WHERE l.id = c.lead_id),
        c.visitor_name, c.visitor_email) AS name,
    c.assigned_to, coalesce(c.handoff_requested_at, c.created_at) AS since, c.snoozed_until, c.end_due_at, c.tags,
    left(coalesce({words} AND coalesce(m.answers, '') <> ALL (:texts::text[]) {latest},
        {words} {latest}), 160) AS words,
    last.created_at AS last_at, {waits_since} AS waits_since, c.source_url, c.timezone,
    r.mentioned_at IS NOT NULL AS mentioned, c.status,
    CASE WHEN c.place IN ('waiting', 'mine') THEN (SELECT count(*) FROM (
        SELECT 1 FROM message m WHERE m.conversation_id = c.id AND m.seq > coalesce(r.seq, 0) AND m.role = 'user'
        LIMIT 10) AS new) ELSE 0 END AS unread

-- {joined}
LEFT JOIN conversation_read r ON r.user_id = :user_id AND r.conversation_id = c.id {last}

-- counts
SELECT (SELECT count(*) FROM (SELECT 1 FROM conversation c WHERE {mine} LIMIT 1000) AS bounded) AS mine,
    (SELECT count(*) FROM (SELECT 1 FROM conversation c WHERE {waiting} LIMIT 1000) AS bounded) AS waiting

-- one
SELECT status, assigned_to, tags, snoozed_until, end_due_at, first_response_at, handoff_requested_at,
    seen_by_visitor_seq, messages_count, rating, rating_comment,
    CASE WHEN status = 'ended' THEN 'ended' WHEN status = 'active' THEN 'bot' WHEN assigned_to IS NULL THEN 'waiting'
        WHEN assigned_to <> :user_id THEN 'theirs' WHEN snoozed_until > :now THEN 'snoozed' ELSE 'mine' END AS place,
    (SELECT seq FROM conversation_read r WHERE r.user_id = :user_id AND r.conversation_id = c.id) AS read_seq,
    (SELECT mentioned_at FROM conversation_read r WHERE r.user_id = :user_id AND r.conversation_id = c.id)
        AS mentioned_at, {waits_since} AS waits_since
FROM conversation c {last} WHERE workspace_id = :workspace AND id = :conversation_id
