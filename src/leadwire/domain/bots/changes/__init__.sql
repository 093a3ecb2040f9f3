-- add_version: the next version of a bot, numbered from 1
INSERT INTO bot_version (bot_id, version, workspace_id, source, created_at, published_by, note)
SELECT :bot, 1 + coalesce(max(version), 0), :workspace, :source, :now, :user_id, :note
FROM bot_version WHERE bot_id = :bot RETURNING version

-- remove_faq_entry
DELETE FROM faq_entry WHERE workspace_id = :workspace AND bot_id = :bot_id AND id = :entry_id RETURNING true

-- count
SELECT count(*) FROM bot WHERE workspace_id = :workspace

-- count_versions
SELECT count(*) FROM bot_version WHERE workspace_id = :workspace AND bot_id = :bot

-- count_entries
SELECT count(*) FROM faq_entry WHERE workspace_id = :workspace AND bot_id = :bot

-- {paused}: it answers nobody
paused_version = coalesce(published_version, paused_version), published_version = NULL

-- paused
UPDATE bot SET {paused} WHERE workspace_id = :workspace AND id = :bot RETURNING id

-- resumed
UPDATE bot SET published_version = coalesce(published_version, paused_version), paused_version = NULL, archived_at = NULL
WHERE workspace_id = :workspace AND id = :bot RETURNING id

-- archived
UPDATE bot SET {paused}, archived_at = now() WHERE workspace_id = :workspace AND id = :bot RETURNING id

-- restored
UPDATE bot SET archived_at = NULL WHERE workspace_id = :workspace AND id = :bot RETURNING id

-- deleted
DELETE FROM bot WHERE workspace_id = :workspace AND id = :bot RETURNING id
