-- one: what the inbox needs to know of the conversation that is open
SELECT status, assigned_to, tags, snoozed_until, end_due_at, first_response_at, handoff_requested_at,
    seen_by_visitor_seq, messages_count, rating, rating_comment,
    CASE WHEN status = 'ended' THEN 'ended' WHEN status = 'active' THEN 'bot' WHEN assigned_to IS NULL THEN 'waiting'
        WHEN assigned_to <> :user_id THEN 'theirs' WHEN snoozed_until > :now THEN 'snoozed' ELSE 'mine' END AS place,
    (SELECT seq FROM conversation_read r WHERE r.user_id = :user_id AND r.conversation_id = c.id) AS read_seq,
    (SELECT mentioned_at FROM conversation_read r WHERE r.user_id = :user_id AND r.conversation_id = c.id)
        AS mentioned_at
FROM conversation c WHERE workspace_id = :workspace AND id = :id
