-- {has_factor}: whether the login `l` has a second factor
(l.totp_secret IS NOT NULL OR EXISTS (SELECT 1 FROM passkey p WHERE p.user_id = l.id))

-- {workspaces}: where the login `l` has accounts
ARRAY(SELECT u.workspace_id FROM user_account u WHERE u.login_id = l.id ORDER BY 1) AS workspaces

-- {counts}: whether the email_domain `d` counts
(d.proven_at IS NOT NULL OR d.taken_over_until > :now)
