-- lift
DELETE FROM mail_suppression WHERE workspace_id = :workspace AND address = :address RETURNING address
