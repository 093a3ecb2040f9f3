-- holder: the lead of the same bot that has this e-mail address
SELECT other.id FROM lead JOIN lead other USING (workspace_id, bot_id)
WHERE workspace_id = :workspace AND lead.id = :lead_id AND lower(other.email) = lower(:email)

-- fields: the custom fields of the newest leads
SELECT key, count(*) FROM (SELECT custom_fields FROM lead WHERE workspace_id = :workspace
    ORDER BY created_at DESC, id DESC LIMIT 300) newest CROSS JOIN LATERAL json_object_keys(custom_fields) AS key
GROUP BY key ORDER BY 2 DESC, 1 LIMIT 100
