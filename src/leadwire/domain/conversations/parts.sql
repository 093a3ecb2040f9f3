-- {awake}: it is snoozed no longer, and if it was, its silence begins now
snoozed_until = NULL, updated_at = CASE WHEN snoozed_until IS NULL THEN updated_at ELSE :now END
