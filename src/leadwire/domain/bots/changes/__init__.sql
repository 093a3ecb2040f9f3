-- add_version: the next version of a bot, numbered from 1
INSERT INTO bot_version (bot_id, version, workspace_id, source, created_at, published_by, note)
SELECT :bot, 1 + coalesce(max(version), 0), :workspace, :source, :now, :user_id, :note
FROM bot_version WHERE bot_id = :bot RETURNING version

-- remove_faq_entry
DELETE FROM faq_entry WHERE workspace_id = :workspace AND bot_id = :bot_id AND id = :entry_id RETURNING true
