-- field_names
SELECT key, count(*) FROM (SELECT custom_fields FROM lead WHERE workspace_id = :workspace
    ORDER BY created_at DESC, id DESC LIMIT 300) newest CROSS JOIN LATERAL json_object_keys(custom_fields) AS key
GROUP BY key ORDER BY 2 DESC, 1 LIMIT 100
