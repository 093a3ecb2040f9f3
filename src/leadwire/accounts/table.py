"""Workspaces, and the two ways into one: API keys and users."""

from piccolo.columns import Array, Bytea, Text, Timestamptz
from piccolo.table import Table

from leadwire.db import DB


class Workspace(Table, db=DB, tablename="workspace"):
    """A customer. Every other row belongs to one."""

    id = Text(primary_key=True)
    name = Text()
    created_at = Timestamptz()


class UserAccount(Table, db=DB, tablename="user_account"):
    """A person who signs in to the web area. `role` is admin or agent."""

    id = Text(primary_key=True)
    workspace_id = Text()
    email = Text()
    role = Text()
    password_hash = Text(null=True, default=None)
    created_at = Timestamptz()


class ApiKey(Table, db=DB, tablename="api_key"):
    """A key to /v1. Only its SHA-256 is kept; `lookup` is the readable part that finds the row."""

    id = Text(primary_key=True)
    workspace_id = Text()
    name = Text()
    lookup = Text()
    hash = Bytea()
    scopes = Array(Text())
    created_at = Timestamptz()
    expires_at = Timestamptz(null=True, default=None)
    revoked_at = Timestamptz(null=True, default=None)
    last_used_at = Timestamptz(null=True, default=None)
