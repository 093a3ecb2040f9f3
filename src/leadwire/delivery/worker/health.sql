-- note: open windows, pause what asks for it, count failures, disable what is gone or has failed for too long
-- A host that has answered is not new. The answer to a test says only that. What a receiver has fetched has no address.
WITH verdict AS (
    SELECT e.id, e.admission_window, asked.successes, asked.pause, e.new_host AND asked.answered AS known,
        CASE WHEN successes > 0 THEN NULL WHEN asked.failures > 0 THEN coalesce(e.failing_since, now())
            ELSE e.failing_since END AS failing_since,
        CASE WHEN successes > 0 THEN 0 ELSE e.failures + asked.failures END AS failures,
        asked.successes > 0 AND e.failing_since IS NOT NULL AND e.auto_redrive_since IS NOT NULL AS recovered,
        CASE WHEN NOT e.enabled THEN NULL WHEN asked.gone THEN 'gone'
            WHEN successes = 0 AND asked.failures > 0 AND e.failures + asked.failures >= :attempts
                AND e.failing_since <= now() - make_interval(days => :days) THEN 'failing'
            END AS reason
    FROM unnest(:ids::text[], :urls::text[], :successes::int[], :failures::int[], :gone::bool[], :pauses::float8[],
        :answered::bool[]) AS asked(id, url, successes, failures, gone, pause, answered)
    JOIN webhook_endpoint e ON e.id = asked.id AND asked.url = CASE WHEN e.url LIKE 'pull:%' THEN '' ELSE e.url END
)
UPDATE webhook_endpoint e SET
    admission_window = least(:largest, v.admission_window + v.successes),
    paused_until = CASE WHEN pause > 0 AND e.paused_until IS DISTINCT FROM 'infinity'
        THEN now() + pause * interval '1 second' ELSE e.paused_until END,
    failing_since = v.failing_since, failures = v.failures,
    open = e.open AND pause = 0 AND v.reason IS NULL,
    enabled = e.enabled AND v.reason IS NULL,
    disabled_reason = coalesce(v.reason, e.disabled_reason),
    new_host = e.new_host AND NOT known, due_at = CASE WHEN known THEN now() ELSE e.due_at END
FROM verdict v WHERE e.id = v.id AND (pause > 0 OR v.reason IS NOT NULL OR known
    OR (e.admission_window, e.failing_since, e.failures)
        IS DISTINCT FROM (least(:largest, v.admission_window + v.successes), v.failing_since, v.failures))
RETURNING e.id, e.workspace_id, v.reason, v.recovered
