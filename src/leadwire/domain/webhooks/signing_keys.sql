-- next
SELECT next_signing_key FROM webhook_endpoint WHERE id = :id
