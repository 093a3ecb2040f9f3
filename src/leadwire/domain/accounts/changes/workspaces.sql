-- begin_deletion
UPDATE workspace SET suspended_at = coalesce(suspended_at, :at), deletion_began_at = :at WHERE id = :workspace

-- begin_import: close a workspace that the open transaction has added, or that is closed since its import began
UPDATE workspace w SET suspended_at = coalesce(suspended_at, now()),
    deletion_began_at = coalesce(deletion_began_at, now())
WHERE id = :workspace AND (w.xmin = pg_current_xact_id()::xid
    OR EXISTS (SELECT 1 FROM audit_entry a WHERE a.workspace_id = w.id AND action = 'workspace.import_began'
        AND detail = w.deletion_began_at::text))
RETURNING deletion_began_at::text, deletion_began_at = now()::timestamptz(3)

-- begin_move
-- It may be deleted instead.
UPDATE workspace SET move_id = :move_id, suspended_at = coalesce(suspended_at, 'infinity') WHERE id = :workspace

-- abandon_move
UPDATE workspace SET deletion_began_at = now() WHERE id = :workspace

-- finish_move
UPDATE workspace SET move_id = NULL, suspended_at = nullif(suspended_at, 'infinity')
WHERE id = :workspace RETURNING suspended_at IS NOT NULL

-- leave: close a workspace that has gone; what is not chained yet is chained there
WITH unchained AS (DELETE FROM audit_entry WHERE workspace_id = :workspace AND number IS NULL)
UPDATE workspace SET move_id = :move_id, moved_to = :address, suspended_at = coalesce(suspended_at, now()),
    deletion_began_at = now()
WHERE id = :workspace AND deletion_began_at IS NULL RETURNING name
