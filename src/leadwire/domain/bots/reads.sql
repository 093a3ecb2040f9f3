-- names
SELECT id, name FROM bot WHERE workspace_id = :workspace ORDER BY created_at, id

-- shown
SELECT id, name, published_version, allowed_origins, created_at FROM bot
WHERE workspace_id = :workspace ORDER BY created_at, id

-- one
SELECT id, name, published_version, allowed_origins, created_at FROM bot
WHERE workspace_id = :workspace AND id = :bot_id

-- listed
SELECT id, name, published_version, allowed_origins, created_at, workspace_id, paused_version, archived_at FROM bot
WHERE :workspace::text IS NULL OR workspace_id = :workspace ORDER BY created_at, id

-- detail
SELECT id, name, published_version, allowed_origins, created_at, workspace_id, paused_version, archived_at,
    draft, draft_saved_at, color, description, draft_revision, draft_saved_by
FROM bot WHERE workspace_id = :workspace AND id = :bot_id

-- look
SELECT look FROM bot WHERE workspace_id = :workspace AND id = :bot_id

-- revision
SELECT draft_revision FROM bot WHERE workspace_id = :workspace AND id = :bot_id

-- history
SELECT cardinality(draft_undo), cardinality(draft_redo) FROM bot WHERE workspace_id = :workspace AND id = :bot_id

-- consenting
SELECT draft FROM bot WHERE workspace_id = :workspace AND draft LIKE '%consent%'
ORDER BY draft_saved_at DESC, id DESC LIMIT 5

-- is_used
SELECT EXISTS (SELECT FROM conversation WHERE workspace_id = :workspace AND bot_id = :bot_id)
    OR EXISTS (SELECT FROM lead WHERE workspace_id = :workspace AND bot_id = :bot_id)

-- versions
SELECT version, created_at, published_by, note FROM bot_version
WHERE workspace_id = :workspace AND bot_id = :bot_id ORDER BY version DESC

-- sources
SELECT version, source FROM bot_version
WHERE workspace_id = :workspace AND bot_id = :bot_id AND version <= :version ORDER BY version DESC LIMIT 2

-- live
SELECT b.workspace_id, b.published_version, b.color, b.look, w.suspended_at IS NOT NULL
FROM bot b JOIN workspace w ON w.id = b.workspace_id WHERE b.id = :bot_id AND b.published_version IS NOT NULL

-- origins
-- Any website is told that there is no such bot or conversation.
SELECT unnest(coalesce((SELECT allowed_origins FROM bot WHERE id =
    coalesce((SELECT bot_id FROM visit WHERE conversation_id = :bot_or_conversation), :bot_or_conversation)), '{*}'))

-- identity_secret
SELECT identity_secret FROM bot WHERE id = :bot_id

-- is_blocked
SELECT true FROM blocked_visitor WHERE workspace_id = :workspace AND address = :address

-- has_blocked
SELECT true FROM blocked_visitor WHERE workspace_id = :workspace AND conversation_id = :conversation_id

-- faq
SELECT id, question, answer FROM faq_entry WHERE workspace_id = :workspace AND bot_id = :bot_id ORDER BY created_at, id

-- score_of
SELECT s.conversation_id, s.label, s.points, s.created_at
FROM score_entry s JOIN conversation c ON c.id = s.conversation_id
WHERE c.workspace_id = :workspace AND c.lead_id = :lead_id
ORDER BY s.created_at, s.conversation_id, s.node, s.label

-- consents_of
SELECT id, bot_id, flow_version, node, text, answer, given, user_id, created_at,
    row_number() OVER (PARTITION BY bot_id, node ORDER BY id DESC) = 1
FROM consent WHERE workspace_id = :workspace AND lead_id = :lead_id ORDER BY id DESC
