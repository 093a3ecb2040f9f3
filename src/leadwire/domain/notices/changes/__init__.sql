-- drop: take one kind from those that somebody gets; a row where there is such a person
INSERT INTO notice_choice (user_id, workspace_id, kinds)
SELECT u.id, u.workspace_id, array_remove(CASE u.role WHEN 'admin' THEN :admin::text[] WHEN 'agent' THEN :agent::text[]
    ELSE :viewer::text[] END, :kind)
FROM user_account u WHERE u.workspace_id = :workspace AND u.id = :user
ON CONFLICT (user_id) DO UPDATE SET kinds = array_remove(notice_choice.kinds, :kind)
RETURNING (SELECT email_address FROM user_account u WHERE u.id = user_id)

-- begin
INSERT INTO notice (kind, workspace_id, subject, at) SELECT :kind, id, '', now() FROM workspace WHERE id = :workspace
ON CONFLICT (kind, workspace_id, subject) DO UPDATE SET at = now(), before = notice.at
    WHERE notice.at <= now() - :pause::interval
RETURNING true

-- remember
INSERT INTO notice (kind, workspace_id, subject, state, at)
SELECT :kind, :workspace, subject, state, now()
FROM unnest(:subjects::text[], :states::text[]) AS told (subject, state)
ON CONFLICT (kind, workspace_id, subject) DO UPDATE SET state = EXCLUDED.state, at = EXCLUDED.at

-- forget
DELETE FROM notice n WHERE n.subject <> '' AND (n.state = 'working' OR CASE n.kind
    WHEN 'waiting' THEN NOT EXISTS (SELECT 1 FROM conversation c
        WHERE c.id = n.subject AND c.status = 'handoff' AND c.assigned_to IS NULL)
    ELSE NOT EXISTS (SELECT 1 FROM webhook_endpoint e
        WHERE e.id = n.subject AND (e.enabled OR e.disabled_reason IN ('gone', 'failing'))) END)

-- choose
INSERT INTO notice_choice (user_id, workspace_id, kinds) VALUES (:user_id, :workspace_id, :kinds)
ON CONFLICT (user_id) DO UPDATE SET kinds = EXCLUDED.kinds
