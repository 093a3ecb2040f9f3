-- update: one or several leads, each with the version it was read with
-- One whose row somebody else holds is left out: a customer's transaction makes nobody else wait.
WITH free AS MATERIALIZED (
    SELECT new.*, held.place FROM unnest(:event::text[], :workspace::text[], :id::text[], :version::int[],
        :updated_at::timestamptz[], :email::text[], :name::text[], :phone::text[], :company::text[], :score::int[],
        :custom_fields::text[])
        AS new (event, workspace_id, id, version, updated_at, email, name, phone, company, score, custom_fields)
    CROSS JOIN LATERAL (SELECT ctid AS place FROM lead WHERE lead.workspace_id = new.workspace_id AND lead.id = new.id
        AND lead.version = new.version LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) held
)
UPDATE lead SET updated_at = free.updated_at, email = free.email, name = free.name, phone = free.phone,
    company = free.company, score = free.score, custom_fields = free.custom_fields::json, version = lead.version + 1
FROM free WHERE lead.ctid = free.place AND lead.workspace_id = free.workspace_id
RETURNING free.event

-- delete
DELETE FROM lead WHERE workspace_id = :workspace AND id = :id
