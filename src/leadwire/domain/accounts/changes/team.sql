-- colleague
SELECT id FROM user_account WHERE workspace_id = :workspace AND lower(email_address) = lower(:email)

-- replace
DELETE FROM invitation WHERE workspace_id = :workspace AND email IS NOT DISTINCT FROM :email

-- withdraw
DELETE FROM invitation WHERE workspace_id = :workspace AND id = :invitation_id RETURNING coalesce(email, '')

-- lock_users
-- What refers to them can be written meanwhile.
SELECT id, email_address, role, break_glass FROM user_account WHERE workspace_id = :workspace ORDER BY id
FOR NO KEY UPDATE

-- patience
SELECT set_config('lock_timeout', '200ms', true)

-- patient_again
SET LOCAL lock_timeout TO DEFAULT
