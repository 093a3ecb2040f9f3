-- end_at
UPDATE conversation SET end_due_at = :at WHERE workspace_id = :workspace AND id = :id

-- snooze
UPDATE conversation SET snoozed_until = :at, end_due_at = NULL WHERE workspace_id = :workspace AND id = :id

-- wake
UPDATE conversation SET end_due_at = NULL, {awake} WHERE workspace_id = :workspace AND id = :id
