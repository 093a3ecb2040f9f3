-- admins
SELECT u.id, u.email_address AS email, break_glass FROM user_account u JOIN login l ON l.id = u.login_id
WHERE workspace_id = :workspace AND role = 'admin' AND l.password_hash IS NOT NULL ORDER BY created_at, u.id
