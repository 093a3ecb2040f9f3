-- take: take the changes of the last 10,000 numbers, or all
-- An old snapshot keeps those that were taken in the index.
DELETE FROM search_due WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM search_due
    WHERE number > CASE WHEN :everything THEN 0 ELSE (SELECT last_value - 10000 FROM search_due_number_seq) END
    ORDER BY number DESC LIMIT :most FOR UPDATE SKIP LOCKED)) RETURNING workspace_id, subject

-- write: write the documents of a workspace
INSERT INTO search_document (id, workspace_id, kind, created_at, lexemes)
SELECT id, :workspace, :kind, created_at, lexemes::tsvector
FROM unnest(:id::text[], :created_at::timestamptz[], :lexemes::text[]) AS made (id, created_at, lexemes)
ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at, lexemes = excluded.lexemes

-- notes: what notes are found by
SELECT n.id, n.created_at, c.bot_id, n.content AS text
FROM conversation_note n JOIN conversation c ON c.id = n.conversation_id
WHERE n.workspace_id = :workspace AND n.id = ANY(:ids::text[])

-- leads: what leads are found by
SELECT id, workspace_id, created_at, bot_id, name, email, phone, company, custom_fields FROM lead
WHERE workspace_id = :workspace AND id = ANY(:ids::text[])
