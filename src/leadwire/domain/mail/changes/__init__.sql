-- add
INSERT INTO mail (id, workspace_id, user_id, about, kind, recipient, data, state, priority, created_at)
VALUES (:id, :workspace_id, :user_id, :about, :kind, :recipient, :data, 'waiting', :priority, :created_at)

-- suppress
INSERT INTO mail_suppression (workspace_id, address, reason, created_at) VALUES (:workspace, :address, :reason, :now)
ON CONFLICT DO NOTHING

-- lift
DELETE FROM mail_suppression WHERE workspace_id = :workspace AND address = :address RETURNING address
