-- read
SELECT draft, draft_revision, draft_authors FROM bot WHERE workspace_id = :workspace AND id = :bot_id

-- lock
-- Visitors can begin conversations meanwhile, which refer to the bot.
SELECT draft, draft_revision, published_version FROM bot WHERE workspace_id = :workspace AND id = :bot_id FOR NO KEY UPDATE

-- save: the new draft; what it was before is kept, as far as there is room
UPDATE bot SET draft = :draft, draft_revision = draft_revision + 1, draft_saved_at = :now, draft_saved_by = :user,
    draft_authors = :authors, draft_redo = '{}',
    draft_undo = CASE WHEN draft IS NULL THEN draft_undo
        ELSE (draft_undo || draft)[greatest(1, cardinality(draft_undo) + 2 - :kept) :] END
WHERE workspace_id = :workspace AND id = :bot

-- count_bytes: the bytes of all flows of a workspace: drafts and published versions
SELECT coalesce(sum(coalesce(octet_length(b.draft), 0) + (
    SELECT coalesce(sum(octet_length(v.source)), 0) FROM bot_version v WHERE v.bot_id = b.id)), 0)
FROM bot b WHERE b.workspace_id = :workspace

-- {moved}: the draft is kept on the other side, and is no tab's own any more
draft_revision = draft_revision + 1, draft_saved_at = :now, draft_saved_by = :user, draft_authors = '{}'

-- undo: take the latest of the drafts before back as the draft
UPDATE bot SET draft = draft_undo[cardinality(draft_undo)], draft_undo = trim_array(draft_undo, 1),
    draft_redo = draft_redo || draft, {moved}
WHERE workspace_id = :workspace AND id = :bot AND cardinality(draft_undo) > 0 RETURNING id

-- redo: bring back what was taken back last
UPDATE bot SET draft = draft_redo[cardinality(draft_redo)], draft_redo = trim_array(draft_redo, 1),
    draft_undo = draft_undo || draft, {moved}
WHERE workspace_id = :workspace AND id = :bot AND cardinality(draft_redo) > 0 RETURNING id
