-- add
INSERT INTO mail (id, workspace_id, user_id, about, kind, recipient, data, state, priority, created_at)
VALUES (:id, :workspace_id, :user_id, :about, :kind, :recipient, :data, 'waiting', :priority, :created_at)
