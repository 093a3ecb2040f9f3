-- add: one statement: the entry and its count are sent together, and nobody waits for the row of another
WITH count AS (
    INSERT INTO audit_count (id, workspace_id, entries, digests) VALUES (:id, :workspace_id, 1, :digest))
INSERT INTO audit_entry (id, workspace_id, at, actor, action, subject, detail, address, in_count)
VALUES (:id, :workspace_id, :at, :actor, :action, :subject, :detail, :address, true)

-- opened: the accounts of a login
SELECT workspace_id, id FROM user_account WHERE login_id = :login ORDER BY workspace_id
