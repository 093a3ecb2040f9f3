"""Who may do what: workspaces, their people, API keys and their scopes.

`sso/` signs people in through a provider; `changes/` makes workspaces, keys and the team; `sign_in/` has the ways in
that are ours, and sessions; `audit/` is the log of what was done. Each imports only those named after it, and the files
here. Every table is in `table.py`.
"""
