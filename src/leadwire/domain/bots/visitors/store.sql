-- {visit}
visit AS (
    INSERT INTO visit (conversation_id, workspace_id, bot_id, token_hash, start_key, address, state, nudge_minutes,
        inactivity_minutes, started_at)
    SELECT changed.id, :workspace, :bot_id, :token_hash, :start_key, :address, :state, :nudge_minutes,
        :inactivity_minutes, :created_at FROM changed
)

-- {state}
visit AS (UPDATE visit SET state = :state FROM changed WHERE conversation_id = changed.id)

-- {scores}: a row for each rule that gave points; a rule counts once in a conversation
scores AS (
    INSERT INTO score_entry (conversation_id, workspace_id, created_at, node, label, points)
    SELECT changed.id, :workspace, :updated_at, new.*
    FROM changed, unnest(:scored_node::text[], :scored_label::text[], :scored_points::int[]) AS new
    ON CONFLICT DO NOTHING
)

-- {consents}: a row for each answer, about the lead that the visitor has become, if any
consents AS (
    INSERT INTO consent (workspace_id, conversation_id, lead_id, bot_id, flow_version, created_at, id, node, text,
        answer, given)
    SELECT :workspace, changed.id, :lead_id, :bot_id, :flow_version, :updated_at, new.*
    FROM changed, unnest(:consent_id::text[], :consent_node::text[], :consent_text::text[], :consent_answer::text[],
        :consent_given::bool[]) AS new
)

-- {earlier_consents}: give a new lead what they have consented to before they became one
earlier_consents AS (
    UPDATE consent SET lead_id = :lead_id FROM changed WHERE conversation_id = changed.id AND consent.lead_id IS NULL
)
