"""Who may do what: workspaces, API keys and their scopes, users."""
