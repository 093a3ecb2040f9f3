-- secrets
SELECT secret, staged_secret, signing_key FROM webhook_endpoint WHERE id = :id AND workspace_id = :workspace
