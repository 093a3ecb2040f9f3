-- history: how many drafts can be brought back, and taken back again
SELECT cardinality(draft_undo), cardinality(draft_redo) FROM bot WHERE workspace_id = :workspace AND id = :bot

-- live: a bot that answers, and whether its workspace is suspended
SELECT b.workspace_id, b.published_version, b.color, b.look, w.suspended_at IS NOT NULL
FROM bot b JOIN workspace w ON w.id = b.workspace_id WHERE b.id = :bot AND b.published_version IS NOT NULL

-- used: whether a bot has conversations or leads
SELECT EXISTS (SELECT FROM conversation WHERE workspace_id = :workspace AND bot_id = :bot)
    OR EXISTS (SELECT FROM lead WHERE workspace_id = :workspace AND bot_id = :bot)

-- origins: the websites that may show a bot, by its id or by that of a conversation with it
SELECT allowed_origins FROM bot WHERE id = coalesce((SELECT bot_id FROM visit WHERE conversation_id = :id), :id)

-- scores: every rule that gave the lead points, in any of its conversations
SELECT s.conversation_id, s.label, s.points, s.created_at
FROM score_entry s JOIN conversation c ON c.id = s.conversation_id
WHERE c.workspace_id = :workspace AND c.lead_id = :lead
ORDER BY s.created_at, s.conversation_id, s.node, s.label

-- consents: what a lead has consented to, refused and withdrawn, newest first
SELECT id, bot_id, flow_version, node, text, answer, given, user_id, created_at,
    row_number() OVER (PARTITION BY bot_id, node ORDER BY id DESC) = 1
FROM consent WHERE workspace_id = :workspace AND lead_id = :lead ORDER BY id DESC
