-- {living}: a session that has not ended, of a workspace that is not suspended and still lets such sessions in
FROM user_session s JOIN user_account u ON u.id = s.user_id JOIN workspace w ON w.id = u.workspace_id
JOIN login l ON l.id = u.login_id
WHERE s.created_at > :oldest AND s.seen_at > :idle AND w.suspended_at IS NULL
    AND (s.provider_id IS NOT NULL OR u.break_glass OR NOT w.sso_enforced)

-- find
-- A provider vouches for the account in its own workspace alone: from there nobody gets to the others.
SELECT l.id, u.id, u.email_address, u.name, u.role, u.workspace_id, w.name, s.id, s.confirmed_at, s.flash,
    u.operator, {has_factor}, s.provider_id, w.networks,
    ARRAY(SELECT ARRAY[o.id, elsewhere.name] FROM user_account o JOIN workspace elsewhere
        ON elsewhere.id = o.workspace_id WHERE o.login_id = l.id AND o.id <> u.id AND s.provider_id IS NULL
        AND elsewhere.suspended_at IS NULL ORDER BY elsewhere.name, o.id),
    s.seen_at >= :lately AND s.address = :address {living} AND s.hash = :hash

-- other
SELECT w.id, w.name, w.networks, w.sso_enforced AND NOT u.break_glass AS barred
FROM user_account u JOIN workspace w ON w.id = u.workspace_id
WHERE u.id = :user AND u.login_id = :login AND w.suspended_at IS NULL

-- switch
-- With another id and token: what pages of before are still doing ends, and their forms are refused.
WITH ended AS (DELETE FROM user_session WHERE id = :session AND provider_id IS NULL RETURNING *)
INSERT INTO user_session (id, user_id, hash, created_at, seen_at, confirmed_at, address, agent)
SELECT :id, :user, :hash, created_at, seen_at, confirmed_at, address, agent FROM ended RETURNING id

-- lives
SELECT s.address, w.networks, u.role {living} AND s.id = :id

-- seen
UPDATE user_session SET seen_at = :now, address = :address WHERE id = :id

-- end_one
DELETE FROM user_session WHERE id = :id AND user_id IN (SELECT id FROM user_account WHERE login_id = :login)
    AND (:only::text IS NULL OR user_id = :only) RETURNING id

-- lock_of: lock the login of an account; what refers to it can be written meanwhile
SELECT l.id FROM login l JOIN user_account u ON u.login_id = l.id WHERE u.id = :user FOR NO KEY UPDATE OF l

-- end_all
WITH ended AS (
    DELETE FROM user_session WHERE user_id IN (SELECT id FROM user_account WHERE login_id = :login_id)
        AND (:but::text IS NULL OR id <> :but) RETURNING id)
SELECT count(*) FROM ended

-- know: know a browser from now on, if it is new: it and the 19 before it
UPDATE login SET known_browsers =
    (array_append(known_browsers, :mark::text))[greatest(cardinality(known_browsers) - 18, 1):]
WHERE id = :login AND :mark <> ALL (known_browsers) RETURNING id

-- begin
INSERT INTO user_session (id, user_id, hash, created_at, seen_at, confirmed_at, address, agent, provider_id,
    provider_session)
VALUES (:id, :user_id, :hash, :created_at, :seen_at, :confirmed_at, :address, :agent, :provider_id,
    :provider_session)
RETURNING (SELECT u.login_id FROM user_account u WHERE u.id = user_id)
