-- openers: for each conversation its lead's name and the visitor's first message
SELECT id, (SELECT coalesce(l.name, l.email) FROM conversation c JOIN lead l ON l.id = c.lead_id WHERE c.id = asked.id),
    (SELECT left(content, 200) FROM message WHERE conversation_id = asked.id AND role = 'user'
    ORDER BY conversation_id, seq LIMIT 1)
FROM unnest(:conversation_ids::text[]) AS asked (id)

-- places: the place of a visitor's message, and of their next one
SELECT seq, (SELECT min(seq) FROM message n WHERE n.conversation_id = m.conversation_id AND n.seq > m.seq
    AND n.role = 'user') AS next
FROM message m WHERE workspace_id = :workspace AND conversation_id = :conversation_id
  AND client_message_id = :client_message_id
