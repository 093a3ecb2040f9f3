-- {about}: the events about a person
(v.lead_id = :lead_id OR v.conversation_id = ANY(:conversation_ids)) AND v.kind = ANY(:kinds)

-- blank_bodies: blank the bodies
UPDATE event v SET body = '' WHERE {about}

-- forget: what was not relayed yet is not to be relayed any more
DELETE FROM outbox o USING event v WHERE v.id = o.event_id AND {about}

-- lock: lock what is still to be sent, in the order in which workers record: what these commit meanwhile is seen next
-- In an order others may wait behind it.
SELECT d.endpoint_id, d.workspace_id, d.subject FROM delivery d JOIN event v ON v.id = d.event_id WHERE {about}
ORDER BY d.event_id, d.endpoint_id FOR UPDATE OF d

-- cancel: cancel what is still to be sent
WITH canceled AS (DELETE FROM delivery d USING event v WHERE v.id = d.event_id AND {about} RETURNING d.*)
{end_canceled}

-- cancel_dead: cancel what could be sent again
UPDATE delivery_result d SET state = 'cancelled', finished_at = now() FROM event v
WHERE v.id = d.event_id AND d.state = 'dead' AND {about}

-- blank_answers: blank what receivers answered: it may repeat what was sent
UPDATE attempt a SET response_body = NULL, response_headers = NULL, error = NULL
FROM event v WHERE v.id = a.event_id AND {about}

-- some: some events of a workspace, without those that a worker may be sending
-- Locked first, as by whoever sends them again.
SELECT id FROM event v WHERE workspace_id = :workspace AND NOT EXISTS (
    SELECT 1 FROM delivery d WHERE d.event_id = v.id AND d.lease_until > now()) LIMIT :most FOR UPDATE

-- has_events
SELECT EXISTS (SELECT 1 FROM event WHERE workspace_id = :workspace)

-- {of_events}: what belongs to events
event_id = ANY(:ids::text[]) AND event_id BETWEEN :first AND :last

-- {are_events}: events themselves
id = ANY(:ids::text[]) AND id BETWEEN :first AND :last

-- delete_outbox: what is still to be done first, so that nothing of it ends behind the sweep
DELETE FROM outbox WHERE {of_events}

-- delete_deliveries: the same
DELETE FROM delivery WHERE {of_events}

-- delete_results: what has ended
DELETE FROM delivery_result WHERE {of_events}

-- delete_attempts: the same
DELETE FROM attempt WHERE {of_events}

-- delete: events last, which the others hang on
DELETE FROM event WHERE {are_events}

-- {known}: events of each kind
FROM unnest(:kinds::text[]) AS known (kind), {servers}, LATERAL (
    SELECT id FROM event v WHERE workspace_id = :workspace AND v.kind = known.kind
      AND v.xact >= server.since AND v.xact < server.until

-- {old}: what a workspace no longer keeps: some bodies of its events in a span, unless they are to be sent
{known} AND id >= :first AND id < :end AND body <> ''
      AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = v.id)
      AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = v.id)
    ORDER BY xact LIMIT :most) old

-- some_old: their ids
SELECT id {old}

-- count_old: how many, and the first
SELECT count(*), min(id) {old}

-- any_left: whether any event in a span still has its body
SELECT EXISTS (SELECT 1 {known} AND id >= :first AND id < :end AND body <> '' ORDER BY xact LIMIT 1) left_over)

-- last: the last event of a workspace
SELECT max(id) {known} ORDER BY xact DESC LIMIT 1) last

-- in_order: by the index of workspace, kind and xact, however few events the planner expects in the span
-- Else it reads those of everybody.
SELECT set_config('enable_sort', 'off', true)

-- lock_old: lock some of those: whoever sends one again meanwhile has committed it then, and the next statement sees it
SELECT 1 FROM event WHERE {are_events} ORDER BY id FOR NO KEY UPDATE

-- finished: of some events those that are still to be sent to nobody
SELECT id FROM event v WHERE {are_events}
    AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.event_id = v.id)
    AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.event_id = v.id)

-- blank: blank bodies of what is finished, and in no other's hands
UPDATE event SET body = '' WHERE {are_events}

-- cancel_results: dead letters could be sent again
UPDATE delivery_result SET state = 'cancelled', finished_at = now() WHERE state = 'dead' AND {of_events}

-- blank_attempts: blank what receivers answered
UPDATE attempt SET response_body = NULL, response_headers = NULL, error = NULL WHERE {of_events}
