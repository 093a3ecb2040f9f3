-- some: some events of a workspace, without those that a worker may be sending
-- Locked first, as by whoever sends them again.
SELECT id FROM event v WHERE workspace_id = :workspace AND NOT EXISTS (
    SELECT 1 FROM delivery d WHERE d.event_id = v.id AND d.lease_until > now()) LIMIT :most FOR UPDATE

-- last: the newest event of a workspace, by the index of the change feed
SELECT max(last.id) FROM unnest(:kinds::text[]) AS known (kind) CROSS JOIN LATERAL (
    SELECT id FROM event v WHERE workspace_id = :workspace AND v.kind = known.kind ORDER BY xact DESC LIMIT 1) last

-- in_order: read by the index of workspace, kind and xact
-- However few events the planner expects in the span: else it reads those of everybody.
SELECT set_config('enable_sort', 'off', true)
