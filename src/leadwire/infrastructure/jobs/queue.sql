-- add: let these be done
-- What waits already may only become due sooner, and one that failed keeps its pause. What is being done is done again
-- afterwards. What was given up begins anew.
INSERT INTO job AS j (kind, key, workspace_id, due_at, since)
SELECT :kind, added.key, workspace_id, coalesce(due_at, now()), coalesce(due_at, now())
FROM unnest(:keys::text[], :workspaces::text[], :times::timestamptz[]) AS added (key, workspace_id, due_at)
ORDER BY added.key
ON CONFLICT (kind, key) DO UPDATE SET
    again = j.owner IS NOT NULL,
    due_at = CASE WHEN j.owner IS NULL THEN excluded.due_at ELSE j.due_at END,
    since = CASE WHEN j.owner IS NULL THEN excluded.since ELSE j.since END,
    tries = CASE WHEN j.failed_at IS NULL THEN j.tries ELSE 0 END,
    failed_at = NULL
WHERE j.owner IS NOT NULL OR j.failed_at IS NOT NULL OR j.tries = 0 AND excluded.due_at < j.due_at

-- offer: let these be done, unless they are known: also those that were given up
INSERT INTO job (kind, key, workspace_id, due_at, since)
SELECT :kind, offered.key, workspace_id, coalesce(due_at, now()), coalesce(due_at, now())
FROM unnest(:keys::text[], :workspaces::text[], :times::timestamptz[]) AS offered (key, workspace_id, due_at)
ORDER BY offered.key ON CONFLICT DO NOTHING

-- waiting
SELECT count(*) FROM (
    SELECT FROM job WHERE kind = :kind AND failed_at IS NULL AND due_at <= now() LIMIT :most) due

-- {died}: whether the process has died that did a job last; one that claims it again has only dropped it
coalesce(owner <> :owner, false)

-- claim: take what is due, of each kind as many as it has room for, in turns by workspace
-- A workspace's second job comes after the first of every other. The oldest are looked at; where that is only a part of
-- what is due, the first jobs of the next workspaces as well. Jobs that are done leave dead entries in the indexes while
-- an old snapshot is held: `floors` says of each kind where the living ones begin. What somebody has locked is passed by.
-- A job whose process has died may be what it died of: such jobs are claimed one at a time, those first that died the
-- least often, so that what was only claimed together with it is done before it is given up.
WITH RECURSIVE wanted AS MATERIALIZED (
    SELECT * FROM unnest(:kinds::text[], :rooms::int[], :floors::timestamptz[], :afters::text[], :tries::int[])
        AS wanted (kind, room, floor, after, tries)
), oldest AS MATERIALIZED (
    SELECT j.* FROM wanted w CROSS JOIN LATERAL (
        SELECT ctid, kind, workspace_id, due_at, {died} AS died, tries FROM job
        WHERE kind = w.kind AND failed_at IS NULL AND due_at >= w.floor AND due_at <= now()
        ORDER BY due_at LIMIT :looked_at) j
), walk (kind, ctid, workspace_id, due_at, died, tries, steps) AS (
    SELECT w.kind, first.*, 1 FROM wanted w CROSS JOIN LATERAL (
        SELECT ctid, workspace_id, due_at, {died}, tries FROM job
        WHERE kind = w.kind AND failed_at IS NULL AND workspace_id >= '' AND workspace_id > w.after
        ORDER BY workspace_id, due_at LIMIT 1) first
    WHERE :looked_at <= (SELECT count(*) FROM oldest o WHERE o.kind = w.kind)
    UNION ALL
    SELECT walk.kind, first.*, steps + 1 FROM walk CROSS JOIN LATERAL (
        SELECT ctid, workspace_id, due_at, {died}, tries FROM job
        WHERE kind = walk.kind AND failed_at IS NULL AND workspace_id >= '' AND workspace_id > walk.workspace_id
        ORDER BY workspace_id, due_at LIMIT 1) first
    WHERE steps < :workspaces
), candidate AS MATERIALIZED (
    SELECT ctid, kind, due_at, died, tries, row_number() OVER (PARTITION BY kind, workspace_id ORDER BY due_at) AS turn
    FROM (
        SELECT * FROM oldest
        UNION
        SELECT ctid, kind, workspace_id, due_at, died, tries FROM walk WHERE due_at <= now()) due
), suspect AS MATERIALIZED (
    SELECT j.ctid, w.kind, j.key, j.tries + 1 >= w.tries AS deadly
    FROM (SELECT ctid, kind FROM candidate WHERE died ORDER BY tries, due_at LIMIT :suspects) c
    JOIN wanted w USING (kind)
    CROSS JOIN LATERAL (SELECT ctid, key, tries FROM job j WHERE j.ctid = c.ctid AND failed_at IS NULL
        AND due_at <= now() FOR UPDATE SKIP LOCKED) j
), given_up AS (
    UPDATE job j SET owner = NULL, failed_at = now(), tries = j.tries + 1, error = 'its process died each time'
    FROM suspect WHERE j.ctid = suspect.ctid AND deadly
), claimed AS (
    UPDATE job SET owner = :owner, again = false, tries = least(tries + {died}::int, 32767),
        due_at = now() + :lease * interval '1 second'
    WHERE ctid = ANY(ARRAY(SELECT ctid FROM suspect WHERE NOT deadly UNION ALL
        SELECT locked.ctid FROM wanted w CROSS JOIN LATERAL (
        SELECT free.ctid FROM (SELECT ctid FROM candidate c WHERE c.kind = w.kind AND NOT died ORDER BY turn, due_at) c
        CROSS JOIN LATERAL (SELECT j.ctid FROM job j WHERE j.ctid = c.ctid AND failed_at IS NULL AND due_at <= now()
            FOR UPDATE SKIP LOCKED) free LIMIT w.room) locked))
    RETURNING kind, key, workspace_id, place, tries
)
SELECT kind, key, workspace_id, place, tries, (kind, key) IN (SELECT kind, key FROM suspect) AS died,
    NULL::timestamptz AS floor FROM claimed
UNION ALL
SELECT kind, NULL, (SELECT CASE count(*) WHEN :workspaces THEN max(workspace_id) ELSE '' END FROM walk
        WHERE walk.kind = w.kind),
    NULL, NULL, NULL, coalesce((SELECT min(due_at) FROM oldest o WHERE o.kind = w.kind), now() - interval '1 second')
FROM wanted w

-- bring_forward: what is due later than it can be
-- Of a kind whose jobs may be due at any time, only those are looked at that are due next.
UPDATE job SET due_at = now() + CASE WHEN owner IS NULL THEN 0 ELSE :lease END * interval '1 second'
WHERE ctid = ANY(ARRAY(SELECT locked.ctid FROM unnest(:kinds::text[], :aheads::float8[], :fails::float8[])
        AS k (kind, ahead, failed)
    CROSS JOIN LATERAL (SELECT ctid, owner, tries, due_at FROM job
        WHERE kind = k.kind AND failed_at IS NULL AND due_at > now() + least(k.ahead, :lease) * interval '1 second'
        ORDER BY due_at LIMIT :most) next
    CROSS JOIN LATERAL (SELECT j.ctid FROM job j WHERE j.ctid = next.ctid AND j.due_at > now() + interval '1 second'
        * CASE WHEN j.owner IS NOT NULL THEN :lease WHEN j.tries > 0 THEN k.failed ELSE k.ahead END
        FOR UPDATE SKIP LOCKED) locked))

-- keep: let nobody else take what this process is still doing
-- What is being added again at this moment is passed by: whoever adds may be waiting for a row that is locked here.
UPDATE job SET due_at = now() + :lease * interval '1 second'
WHERE ctid = ANY(ARRAY(SELECT j.ctid FROM unnest(:kinds::text[], :keys::text[]) AS done (kind, key)
    JOIN job j USING (kind, key) WHERE j.key = ANY(:keys::text[]) AND owner = :owner FOR UPDATE OF j SKIP LOCKED))

-- finish: what came of jobs that this process did: done, or again after some seconds
-- Those that are being added again at this moment are left out: their owner asks once more. A row that was added again
-- while this began is locked in its newest version, which only its key leads to. `key = ANY` bounds what is read, however
-- the planner joins.
WITH ended AS MATERIALIZED (
    SELECT * FROM unnest(:keys::text[], :pauses::float8[], :places::text[], :errors::text[], :counts::int[])
        AS ended (key, pause, place, error, counts)
), held AS MATERIALIZED (
    SELECT j.again, j.tries, ended.* FROM ended JOIN job j ON j.kind = :kind AND j.key = ended.key
    WHERE j.key = ANY(:keys::text[]) AND j.owner = :owner FOR UPDATE OF j SKIP LOCKED
), removed AS (
    DELETE FROM job j USING held
    WHERE j.kind = :kind AND j.key = ANY(:keys::text[]) AND j.key = held.key AND pause IS NULL AND NOT held.again
), kept AS (
    UPDATE job j SET owner = NULL, again = false, place = held.place, error = held.error,
        tries = CASE WHEN held.error IS NULL THEN 0 ELSE least(held.tries + held.counts, 32767) END,
        since = CASE WHEN held.error IS NULL THEN now() + coalesce(pause, 0) * interval '1 second' ELSE j.since END,
        due_at = now() + CASE WHEN held.again AND held.error IS NULL THEN 0 ELSE pause END * interval '1 second',
        failed_at = CASE WHEN NOT held.again AND held.counts > 0 AND held.tries + held.counts >= :most THEN now() END
    FROM held
    WHERE j.kind = :kind AND j.key = ANY(:keys::text[]) AND j.key = held.key AND (pause IS NOT NULL OR held.again)
    RETURNING j.key, j.failed_at IS NOT NULL AS failed
)
SELECT key, coalesce((SELECT failed FROM kept WHERE kept.key = held.key), false) AS failed FROM held

-- held: which of these this process still has
SELECT key FROM job WHERE kind = :kind AND key = ANY(:keys::text[]) AND owner = :owner

-- put_off
UPDATE job SET owner = NULL, due_at = now() + :pause * interval '1 second', again = false
WHERE ctid = ANY(ARRAY(SELECT ctid FROM job
    WHERE kind = :kind AND key = ANY(:keys::text[]) AND owner = :owner FOR UPDATE SKIP LOCKED))

-- rest
-- Nobody has to look why it is not done: it is neither late nor failing until its workspace is resumed.
UPDATE job SET owner = NULL, due_at = now() + :pause * interval '1 second', again = false,
    since = now() + :pause * interval '1 second', tries = 0, error = NULL
WHERE ctid = ANY(ARRAY(SELECT ctid FROM job
    WHERE kind = :kind AND key = ANY(:keys::text[]) AND owner = :owner FOR UPDATE SKIP LOCKED))

-- remove
DELETE FROM job WHERE kind = :kind AND key = :key

-- delete_batch: delete some of a workspace's
DELETE FROM job WHERE ctid = ANY(ARRAY(
    SELECT ctid FROM job WHERE workspace_id = :workspace LIMIT :most FOR UPDATE SKIP LOCKED)) RETURNING 1
