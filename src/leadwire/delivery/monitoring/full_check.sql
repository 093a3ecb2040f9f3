-- ask: ask for a check
INSERT INTO ledger_check (alone) VALUES (true) ON CONFLICT (alone) DO UPDATE SET asked_at = now()

-- last: the last check, and whether it was made since somebody asked
SELECT checked_at, result, checked_at >= asked_at FROM ledger_check

-- due: the time, if a check is due
SELECT now() WHERE NOT EXISTS (
    SELECT 1 FROM ledger_check WHERE checked_at >= asked_at AND checked_at > now() - interval '1 day')

-- configure: how the transactions of a check run
-- Connections of this process read by indexes alone, with plans that are kept, and no transaction of theirs may idle for
-- long. Here, whole tables are read, and Redis may take its time to answer, or not to.
SELECT set_config(name, value, true) FROM (VALUES ('enable_seqscan', 'on'), ('enable_hashjoin', 'on'),
    ('enable_mergejoin', 'on'), ('plan_cache_mode', 'force_custom_plan'),
    ('idle_in_transaction_session_timeout', '10min')) AS chosen (name, value)

-- keep: keep what a check has found
INSERT INTO ledger_check (alone, asked_at, checked_at, result) VALUES (true, :at, :at, :result)
ON CONFLICT (alone) DO UPDATE SET checked_at = excluded.checked_at, result = excluded.result
