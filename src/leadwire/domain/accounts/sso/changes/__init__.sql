-- count
SELECT count(*) FROM identity_provider WHERE workspace_id = :workspace

-- {admin}: an admin who has a password
workspace_id = :workspace AND role = 'admin'
    AND EXISTS (SELECT 1 FROM login l WHERE l.id = login_id AND password_hash IS NOT NULL)

-- set_break_glass
UPDATE user_account SET break_glass = :on WHERE {admin} AND id = :id RETURNING email_address

-- count_break_glass
SELECT count(*) FROM user_account WHERE {admin} AND break_glass
