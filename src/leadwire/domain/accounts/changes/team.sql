-- colleague
SELECT id FROM user_account WHERE workspace_id = :workspace AND lower(email_address) = lower(:email)

-- withdraw
DELETE FROM invitation WHERE workspace_id = :workspace AND id = :invitation_id RETURNING coalesce(email, '')

-- patience
SELECT set_config('lock_timeout', '200ms', true)

-- patient_again
SET LOCAL lock_timeout TO DEFAULT
