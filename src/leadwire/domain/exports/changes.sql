-- count
SELECT count(*) FROM export_job WHERE workspace_id = :workspace AND created_at > :since
    AND completed_at IS NULL AND canceled_at IS NULL

-- cancel
UPDATE export_job SET canceled_at = :now WHERE workspace_id = :workspace AND id = :id AND canceled_at IS NULL

-- note
-- Unless the export was canceled, or has expired before its end.
UPDATE export_job SET sent = sent + :sent, completed_at = CASE WHEN :ended THEN :now::timestamptz ELSE completed_at END
WHERE workspace_id = :workspace AND id = :export_id AND canceled_at IS NULL AND (:ended OR expires_at > :now) RETURNING 1
