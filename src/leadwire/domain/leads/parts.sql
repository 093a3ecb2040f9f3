-- {add}
person AS (
    INSERT INTO lead (workspace_id, id, bot_id, conversation_id, source_url, source_campaign, source_referrer,
        created_at, updated_at, email, name, phone, company, score, custom_fields)
    SELECT :workspace, :lead, :bot_id, changed.id, :source_url, :source_campaign, :source_referrer, :updated_at,
        :updated_at, :email, :name, :phone, :company, :score, :custom_fields FROM changed
)

-- {change}
person AS (
    UPDATE lead SET email = :email, name = :name, phone = :phone, company = :company, score = :score,
        custom_fields = :custom_fields, updated_at = :updated_at, version = version + 1
    FROM changed WHERE lead.id = :lead
)
