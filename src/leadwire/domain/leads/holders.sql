-- holder_of_email
SELECT other.id FROM lead JOIN lead other USING (workspace_id, bot_id)
WHERE workspace_id = :workspace AND lead.id = :lead_id AND lower(other.email) = lower(:email)
