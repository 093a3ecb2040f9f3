-- {domain}: the columns of `schema.Domain`
id, workspace_id, domain, code, created_at, proven_at, missing_since, taken_over_until, checked_at, fault
