-- messages
SELECT id, role, content, created_at, seq, client_message_id,
    (SELECT split_part(u.name, ' ', 1) FROM user_account u WHERE u.id = m.user_id) AS author
FROM message m WHERE workspace_id = :workspace AND conversation_id = :conversation_id AND seq > :after AND seq <= :until
ORDER BY seq

-- counted
-- Some of the messages and how many there are: one statement, so one snapshot.
SELECT ARRAY(SELECT (m.id, m.role, m.content, m.created_at) FROM message m WHERE m.conversation_id = c.id
    AND seq > :after::bigint AND seq <= :until::bigint ORDER BY m.seq), messages_count
FROM conversation c WHERE workspace_id = :workspace AND id = :conversation_id

-- places
-- Of a visitor's message, and of their next one.
SELECT seq, (SELECT min(seq) FROM message n WHERE n.conversation_id = m.conversation_id AND n.seq > m.seq
    AND n.role = 'user') AS next
FROM message m WHERE workspace_id = :workspace AND conversation_id = :conversation_id
  AND client_message_id = :client_message_id

-- authors
SELECT m.id, coalesce(u.name, u.email_address) AS name FROM message m JOIN user_account u ON u.id = m.user_id
WHERE m.workspace_id = :workspace AND m.conversation_id = :conversation_id AND m.role = 'agent'

-- openers
SELECT id, (
    (SELECT coalesce(l.name, l.email) FROM conversation c JOIN lead l ON l.id = c.lead_id WHERE c.id = asked.id),
    coalesce((SELECT left(content, 200) FROM message WHERE conversation_id = asked.id AND role = 'user'
        ORDER BY conversation_id, seq LIMIT 1), ''))
FROM unnest(:ids::text[]) AS asked (id)

-- notes
SELECT id, user_id, content, created_at FROM conversation_note
WHERE workspace_id = :workspace AND conversation_id = :conversation_id ORDER BY created_at, id

-- notes_of_lead
SELECT n.id, n.user_id, n.content, n.created_at FROM conversation c JOIN conversation_note n ON n.conversation_id = c.id
WHERE c.workspace_id = :workspace AND c.lead_id = :lead_id ORDER BY n.created_at DESC, n.id DESC LIMIT 50

-- saved_replies
SELECT id, name, content FROM saved_reply WHERE workspace_id = :workspace ORDER BY lower(name), id

-- rating
SELECT rating, rating_comment, status FROM conversation WHERE workspace_id = :workspace AND id = :conversation_id

-- of_lead
SELECT id, bot_id, status, visitor_email, visitor_name, messages_count, created_at, updated_at FROM conversation
WHERE workspace_id = :workspace AND lead_id = :lead_id
