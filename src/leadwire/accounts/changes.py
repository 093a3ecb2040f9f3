"""Every change of workspaces and API keys."""

from collections.abc import Sequence
from datetime import datetime

from leadwire import clock, db, ids
from leadwire.accounts import keys
from leadwire.errors import Fault, Invalid, NotFound


async def create_workspace(name: str) -> str:
    """A new customer. Answers the workspace's id."""
    workspace = ids.new("ws")
    await db.rows("INSERT INTO workspace (id, name, created_at) VALUES ($1, $2, $3)", workspace, name, clock.now())
    return workspace


async def create_key(
    workspace: str, name: str, scopes: Sequence[str] = keys.SCOPES, expires_at: datetime | None = None
) -> tuple[str, str]:
    """A new API key. Answers its id and its text, which is kept nowhere. Raises Invalid."""
    if unknown := [scope for scope in scopes if scope not in keys.SCOPES]:
        message = f"No such scope: {', '.join(unknown)}. There are: {', '.join(keys.SCOPES)}."
        raise Invalid(message, faults=(Fault("unknown_scope", message, "/scopes"),))
    if not name.strip() or len(name) > 200:
        raise Invalid("A key needs a name of at most 200 characters.")
    key_id, key = ids.new("key"), keys.new()
    await db.rows(
        """INSERT INTO api_key (id, workspace_id, name, lookup, hash, scopes, created_at, expires_at)
           VALUES ($1, $2, $3, $4, $5, $6, $7, $8)""",
        key_id, workspace, name.strip(), key.lookup, key.hash, list(dict.fromkeys(scopes)), clock.now(), expires_at,
    )  # fmt: skip
    return key_id, key.text


async def revoke_key(workspace: str | None, key_id: str) -> None:
    """End a key; within 5 s it works nowhere. Ending it twice is fine. Raises NotFound."""
    found = await db.value(
        """UPDATE api_key SET revoked_at = coalesce(revoked_at, $3)
           WHERE id = $2 AND ($1::text IS NULL OR workspace_id = $1) RETURNING id""",
        workspace, key_id, clock.now(),
    )  # fmt: skip
    if found is None:
        raise NotFound(f"There is no API key {key_id}.")


async def note_use(key_ids: Sequence[str]) -> None:
    """Write down that keys were used, at most once a minute each."""
    await db.rows(
        """UPDATE api_key SET last_used_at = $2 WHERE id = ANY($1)
             AND (last_used_at IS NULL OR last_used_at < $2::timestamptz - interval '1 minute')""",
        list(key_ids), clock.now(),
    )  # fmt: skip
