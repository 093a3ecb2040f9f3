-- views: their own, those of everybody, and the columns they see without one (no name)
SELECT id, user_id, name, query, columns FROM lead_view
WHERE workspace_id = :workspace AND (user_id = :user_id OR user_id IS NULL) ORDER BY lower(name), id
