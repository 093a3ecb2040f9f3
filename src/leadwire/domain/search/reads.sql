-- some: some of the documents with these lexemes
-- The limit is inside, so that the index of lexemes is the only way to them.
SELECT id FROM (SELECT id, workspace_id FROM search_document WHERE lexemes @@ :lexemes::tsquery LIMIT :most) found
WHERE workspace_id = :workspace

-- estimate: how many documents PostgreSQL expects to have them, by its statistics alone
EXPLAIN (FORMAT JSON) SELECT FROM search_document WHERE lexemes @@ :lexemes::tsquery

-- waiting: the newest number of a change, and the oldest that waits
SELECT last_value, (SELECT min(number) FROM search_due WHERE number >= :front) FROM search_due_number_seq

-- leads
SELECT id, bot_id, created_at, name, email, phone, company, score,
    (SELECT string_agg(key || ': ' || value, ' · ') FROM json_each_text(custom_fields)
        WHERE :pattern <> '' AND value ~* :pattern) AS fields FROM lead
WHERE workspace_id = :workspace AND id = ANY(:ids::text[]) ORDER BY array_position(:ids, id)

-- conversations
-- With the first messages that have one of the words.
SELECT c.id, c.bot_id, c.created_at, c.status, c.tags, c.messages_count,
    coalesce(l.name, c.visitor_name, l.email, c.visitor_email) AS name,
    ARRAY(SELECT (m.role, m.content) FROM message m
        WHERE m.conversation_id = c.id AND m.content ~* :pattern ORDER BY m.seq LIMIT 3) AS said
FROM conversation c LEFT JOIN lead l ON l.id = c.lead_id
WHERE c.workspace_id = :workspace AND c.id = ANY(:ids::text[]) ORDER BY array_position(:ids, c.id)

-- notes
SELECT n.id, n.conversation_id, c.bot_id, n.created_at, n.user_id, n.content
FROM conversation_note n JOIN conversation c ON c.id = n.conversation_id
WHERE n.workspace_id = :workspace AND n.id = ANY(:ids::text[]) ORDER BY array_position(:ids, n.id)
