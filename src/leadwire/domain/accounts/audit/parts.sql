-- {of_chain}: whether an entry is in a chain
coalesce(workspace_id, 'installation') = :chain
