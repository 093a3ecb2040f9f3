"""Every route, tried as whoever must not use it: strangers, other workspaces, lower roles, other sites and scopes."""
