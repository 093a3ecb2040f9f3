-- {here}
workspace_id = :workspace AND id = :conversation

-- {same}: as it was read
{here} AND xmin = :version::xid

-- {set}
UPDATE conversation SET status = :status, lead_id = :lead_id, visitor_email = :visitor_email,
    visitor_name = :visitor_name, messages_count = :messages_count, variables = :variables,
    handoff_reason = :handoff_reason, handoff_requested_at = :handoff_requested_at, ended_at = :ended_at,
    ended_by = :ended_by, end_reason = :end_reason, snoozed_until = :snoozed_until, end_due_at = :end_due_at,
    updated_at = :updated_at

-- {add}
INSERT INTO conversation (id, workspace_id, bot_id, flow_version, source_url, source_campaign, source_referrer, locale,
    timezone, browser, os, created_at, status, lead_id, visitor_email, visitor_name, messages_count, variables,
    handoff_reason, handoff_requested_at, ended_at, ended_by, end_reason, snoozed_until, end_due_at, updated_at)
SELECT :conversation, :workspace, :bot_id, :flow_version, :source_url, :source_campaign, :source_referrer, :locale,
    :timezone, :browser, :os, :created_at, :status, :lead_id, :visitor_email, :visitor_name, :messages_count, :variables,
    :handoff_reason, :handoff_requested_at, :ended_at, :ended_by, :end_reason, :snoozed_until, :end_due_at, :updated_at

-- {hold}: a lead, as it was read
lead.id = :lead AND lead.version = :lead_version FOR NO KEY UPDATE OF lead

-- {begin}
changed AS (
    {add} RETURNING id
)

-- {change}
changed AS ({set} WHERE {same} RETURNING id)

-- {begin_with_lead}
held AS MATERIALIZED (SELECT 1 FROM lead WHERE {hold}
), changed AS (
    {add} FROM held RETURNING id
)

-- {change_with_lead}
-- Conversations are locked before leads, by everybody: the other way round two could deadlock.
same AS MATERIALIZED (
    SELECT id FROM conversation WHERE {same} FOR NO KEY UPDATE
), held AS MATERIALIZED (SELECT same.id FROM same, lead WHERE {hold}
), changed AS (
    {set} WHERE {here} AND id = (SELECT id FROM held) RETURNING id
)

-- {messages}
messages AS (
    INSERT INTO message (workspace_id, conversation_id, created_at, id, seq, role, content, client_message_id, answers,
        user_id)
    SELECT :workspace, changed.id, :updated_at, new.* FROM changed, unnest(:id::text[], :seq::int[], :role::text[],
        :content::text[], :client_message_id::text[], :answers::text[], :user_id::text[]) AS new
)
