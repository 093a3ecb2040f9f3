-- count
SELECT count(*) FROM identity_provider WHERE workspace_id = :workspace

-- set
UPDATE identity_provider SET name = :name, client_id = :client_id,
    client_secret = coalesce(:client_secret, client_secret), domains = :domains, trusts_email = :trusts_email,
    default_role = :default_role, role_claim = :role_claim, roles = :roles
WHERE workspace_id = :workspace AND id = :id

-- remove
DELETE FROM identity_provider WHERE workspace_id = :workspace AND id = :id

-- lock
SELECT sso_enforced FROM workspace WHERE id = :workspace FOR NO KEY UPDATE

-- enforce
UPDATE workspace SET sso_enforced = :enforced WHERE id = :workspace

-- {admin}: an admin who has a password
workspace_id = :workspace AND role = 'admin'
    AND EXISTS (SELECT 1 FROM login l WHERE l.id = login_id AND password_hash IS NOT NULL)

-- set_break_glass
UPDATE user_account SET break_glass = :on WHERE {admin} AND id = :id RETURNING email_address

-- count_break_glass
SELECT count(*) FROM user_account WHERE {admin} AND break_glass
